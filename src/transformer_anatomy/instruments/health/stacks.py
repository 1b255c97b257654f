"""Find the layers of a model: the places where the same kind of module stands again and again."""

from typing import NamedTuple

from torch import nn


class Layer(NamedTuple):
    """One repeated module and its path in the model, such as `encoder.layers.0`."""

    path: str
    module: nn.Module


def find_stacks(model: nn.Module) -> list[list[Layer]]:
    """The repeated layers of any model, stack by stack, in the order of the model; an empty list if there are none.

    A stack is a container with at least two children of the same class that hold parameters; what repeats inside a
    layer (heads, experts) is part of that layer. A module that stands twice in a container is listed twice.
    """
    stacks: list[list[Layer]] = []
    _collect(model, "", stacks)
    return stacks


def _collect(module: nn.Module, path: str, stacks: list[list[Layer]]) -> None:
    children = [
        (f"{path}.{name}" if path else name, child) for name, child in module._modules.items() if child is not None
    ]
    kinds = [type(child) for _, child in children if next(child.parameters(), None) is not None]
    repeated = {kind for kind in kinds if kinds.count(kind) > 1} if _is_container(module) else set()
    if repeated:
        most = max(repeated, key=kinds.count)
        stacks.append([Layer(name, child) for name, child in children if type(child) is most])
        return
    for name, child in children:
        _collect(child, name, stacks)


def _is_container(module: nn.Module) -> bool:
    # Only a container runs its children one after another; an attention's four projections are not layers.
    return isinstance(module, nn.ModuleList | nn.Sequential | nn.ModuleDict)
