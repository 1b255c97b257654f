"""Where a NaN or an infinity first appears, on the way forward or on the way back."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_anatomy.lab.batch import Batch, tensors_of
from transformer_anatomy.model.tap import Tap


def first_broken_output(model: nn.Module, compute: Callable[[], Tensor], batch: Batch) -> str:
    """What is to blame for a loss that is not finite, in words: weights, else the batch, else a module, else the loss.

    `compute` makes the loss once more.
    """
    if path := first_broken_weight(model):
        return f"{path} holds NaN or infinity"
    if any(tensor.is_floating_point() and tensor.isnan().any() for tensor in tensors_of(batch)):
        return "the batch holds NaN"
    broken: list[str] = []

    def look(path: str):
        return lambda module, args, output: None if _finite(output) else broken.append(path)

    handles = [module.register_forward_hook(look(path)) for path, module in _modules(model)]
    try:
        with torch.no_grad():
            compute()
    finally:
        for handle in handles:
            handle.remove()
    if broken:
        return f"{broken[0] or 'the model'} is the first module whose output holds NaN or infinity"
    return "the output of every module is finite, so it comes from the loss itself"


def first_broken_gradient(model: nn.Module, compute: Callable[[], Tensor]) -> str:
    """What is to blame for a gradient that is not finite though the loss is, in words.

    `compute` makes the loss once more. Gradients are lost.
    """
    broken: list[tuple[str, bool]] = []

    def look(path: str):
        def hook(module, leaving, arriving) -> None:
            if not (_finite(leaving) and _finite(arriving)):
                broken.append((path, _finite(arriving)))

        return hook

    handles = [module.register_full_backward_hook(look(path)) for path, module in _modules(model)]
    model.zero_grad()
    try:
        with warnings.catch_warnings(action="ignore"):  # PyTorch's, about modules that pass no gradient on
            compute().backward()
    except RuntimeError:  # Backward hooks and operations in place exclude each other.
        pass
    finally:
        for handle in handles:
            handle.remove()
    if broken:
        path, made_here = broken[0]
        if made_here:
            return f"{path or 'the model'} is the first module on the way back that makes it NaN or infinite"
        return f"it is NaN or infinite already where it reaches {path}" if path else "it comes from the loss itself"
    model.zero_grad()
    compute().backward()
    names = [name for name, p in model.named_parameters() if p.grad is not None and not _finite(p.grad)]
    return f"that of {names[-1]} holds NaN or infinity" if names else "it does not show when the step is repeated"


def first_broken_weight(model: nn.Module) -> str | None:
    """The name of the first parameter that holds NaN or infinity."""
    return next((name for name, p in model.named_parameters() if not _finite(p)), None)


def _modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    # A watched tap of attention weights would change how they are computed.
    return [(path, module) for path, module in model.named_modules() if not isinstance(module, Tap)]


def _finite(tensors: object) -> bool:
    return all(bool(tensor.detach().isfinite().all()) for tensor in tensors_of(tensors))
