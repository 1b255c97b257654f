"""Find the layers of a model: the places where the same kind of module stands again and again."""

from typing import NamedTuple

from torch import nn


class Layer(NamedTuple):
    """One repeated module and its path in the model, such as `encoder.layers.0`."""

    path: str
    module: nn.Module


def find_stacks(model: nn.Module) -> list[list[Layer]]:
    """The repeated layers of any model, stack by stack, in the order of the model; an empty list if there are none.

    A stack is a `ModuleList` or `Sequential` with at least two children of the same kind that hold parameters: of one
    class, or containers of the same classes. What repeats inside a layer (heads, experts) is part of that layer. Single
    modules side by side, such as linear maps, are layers where nothing larger repeats. A module that stands
    twice in a container is listed twice.
    """
    stacks = _stacks_in(model, "")
    blocks = [stack for stack in stacks if any(layer.module._modules for layer in stack)]
    return blocks or stacks


def _stacks_in(module: nn.Module, path: str) -> list[list[Layer]]:
    children = [
        Layer(f"{path}.{name}" if path else name, child) for name, child in module._modules.items() if child is not None
    ]
    members = _repeated(children) if isinstance(module, nn.ModuleList | nn.Sequential) else []
    paths = {member.path for member in members}
    beside = [stack for path, child in children if path not in paths for stack in _stacks_in(child, path)]
    if not members or (beside and not any(member.module._modules for member in members)):
        return beside
    return sorted([members, *beside], key=lambda stack: [layer.path for layer in children].index(_top(stack, children)))


def _repeated(children: list[Layer]) -> list[Layer]:
    """The children of the kind that stands there most often, the first of several such; of norms only if all are."""
    kinds = [_kind(child) for _, child in children]
    holding = [kind for (_, child), kind in zip(children, kinds, strict=True) if _holds_matrix(child)]
    counted = holding if len(set(holding)) < len(holding) else [kind for kind in kinds if kind is not None]
    most = max(dict.fromkeys(counted), key=counted.count, default=None)
    if counted.count(most) < 2:
        return []
    return [layer for layer, kind in zip(children, kinds, strict=True) if kind == most]


def _kind(module: nn.Module) -> object:
    """What has to agree for two modules to be of a kind; None without parameters."""
    if next(module.parameters(), None) is None:
        return None
    if type(module) in (nn.Sequential, nn.ModuleList):
        return type(module), tuple(kind for child in module if (kind := _kind(child)) is not None)
    return type(module)


def _holds_matrix(module: nn.Module) -> bool:
    return any(p.dim() > 1 for p in module.parameters())


def _top(stack: list[Layer], children: list[Layer]) -> str:
    first = stack[0].path
    return next(path for path, _ in children if first == path or first.startswith(f"{path}."))
