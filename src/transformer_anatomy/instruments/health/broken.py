"""Where a NaN or an infinity first appears: in a weight, in the output of a module, or on the way back."""

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.nested import tensors_of
from transformer_anatomy.model.tap import Tap


class BrokenOutput(NamedTuple):
    """A module whose output is not finite: what it holds, and whether what the module was given holds such, too."""

    path: str
    holds: str
    given_too: bool


class BrokenGradient(NamedTuple):
    """The first module on the way back at which a gradient is not finite; `made_here` if it arrived finite."""

    path: str
    made_here: bool


class BrokenOutputs:
    """The modules of one pass whose output is not finite, in the order in which they ended."""

    def __init__(self):
        self.all: list[BrokenOutput] = []

    def look(self, path: str, given: object, output: object) -> None:
        """Note the module at `path` if what it returned is not finite."""
        wrong = next((wrong for tensor in tensors_of(output) if (wrong := what_is_wrong(tensor))), None)
        if wrong is not None:
            self.all.append(BrokenOutput(path, wrong, any(what_is_wrong(tensor) for tensor in tensors_of(given))))

    @property
    def first(self) -> BrokenOutput | None:
        """The one to blame. A mask of −∞ is none where a later module made something else of finite numbers."""
        made = (broken for broken in self.all if broken.holds != "−∞" and not broken.given_too)
        return next(made, self.all[0] if self.all else None)


def first_broken_weight(model: nn.Module) -> str | None:
    """The path of the first parameter that holds NaN or an infinity."""
    return next((path for path, p in model.named_parameters() if what_is_wrong(p)), None)


def first_broken_output(model: nn.Module, compute: Callable[[], object]) -> BrokenOutput | None:
    """The module to blame in what `compute` does with `model`."""
    seen = BrokenOutputs()

    def watch(path: str):
        return lambda module, args, kwargs, output: seen.look(path, (args, kwargs), output)

    handles = [module.register_forward_hook(watch(path), with_kwargs=True) for path, module in modules(model)]
    try:
        with torch.no_grad():
            compute()
    finally:
        for handle in handles:
            handle.remove()
    return seen.first


def first_broken_gradient(model: nn.Module, compute: Callable[[], Tensor]) -> BrokenGradient | None:
    """The first module on the way back from the loss that `compute` returns; None where it lies between modules.

    Gradients are lost. Operations in place can keep a module from being watched; then there is nothing to see.
    """
    broken: list[BrokenGradient] = []

    def watch(path: str):
        def hook(module, leaving, arriving) -> None:
            arrived = not any(what_is_wrong(tensor) for tensor in tensors_of(arriving))
            if not arrived or any(what_is_wrong(tensor) for tensor in tensors_of(leaving)):
                broken.append(BrokenGradient(path, arrived))

        return hook

    handles = [module.register_full_backward_hook(watch(path)) for path, module in modules(model)]
    model.zero_grad()
    try:
        with warnings.catch_warnings(action="ignore"):  # PyTorch's, about modules that pass no gradient on
            compute().backward()
    except RuntimeError:  # Backward hooks and operations in place exclude each other.
        pass
    finally:
        for handle in handles:
            handle.remove()
    return broken[0] if broken else None


def modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """All modules by their paths but taps: a watched tap of attention weights changes how they are computed."""
    return [(path, module) for path, module in model.named_modules() if not isinstance(module, Tap)]


def what_is_wrong(tensor: Tensor) -> str | None:
    """NaN, an infinity or −∞ alone, if the tensor holds one."""
    if not tensor.is_floating_point() or tensor.is_meta:
        return None
    tensor = tensor.detach()
    tensor = tensor.coalesce().values() if tensor.is_sparse else tensor
    # One pass, and the usual case; only a sum that is not finite, or overflowed, is looked at again.
    if math.isfinite(tensor.sum(dtype=torch.promote_types(tensor.dtype, torch.float32)).item()):
        return None
    if tensor.isnan().any():
        return "NaN"
    return None if not tensor.isinf().any() else "an infinity" if tensor.isposinf().any() else "−∞"
