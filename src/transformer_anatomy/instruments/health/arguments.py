"""What `examine` refuses, in words."""

import inspect

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy


def check_arguments(model: object, loss: object, optimizer: object) -> None:
    """Raise unless these can be examined together."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if not callable(loss):
        raise TypeError(f"loss must be a function that takes the model, got {type(loss).__name__}")
    for path, module in model.named_modules():
        compiled = hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None
        if compiled or isinstance(module, torch.jit.ScriptModule):
            where = f"its part {path!r}" if path else "it"
            raise ValueError(f"model must not be compiled or scripted, {where} is: examine the model that was compiled")
    for path, p in (*model.named_parameters(), *model.named_buffers()):
        if is_lazy(p) or p.is_meta:
            raise ValueError(f"model must hold numbers, its {path!r} has none yet: {'lazy' if is_lazy(p) else 'meta'}")
    mine = {id(p) for p in model.parameters()}
    for one in as_optimizers(optimizer):
        if not isinstance(one, torch.optim.Optimizer):
            raise TypeError(f"optimizer must be a torch.optim.Optimizer or several in a list, got {type(one).__name__}")
        if not any(id(p) in mine for group in one.param_groups for p in group["params"]):
            raise ValueError("optimizer must hold parameters of model, it holds none: make it from model.parameters()")
        closure = inspect.signature(type(one).step).parameters.get("closure")
        if closure is not None and closure.default is inspect.Parameter.empty:
            kind = type(one).__name__
            raise ValueError(
                f"optimizer must step on one gradient, {kind} computes the loss several times: leave it out"
            )


def as_optimizers(optimizer: object) -> tuple[object, ...]:
    """None, one optimiser or several as a tuple."""
    if optimizer is None:
        return ()
    return tuple(optimizer) if isinstance(optimizer, list | tuple) else (optimizer,)


def check_value(value: object, model: nn.Module) -> None:
    """Raise unless a pass backward from what `loss` returned says something about `model`."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        came = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"loss must return a scalar tensor, got {came}")
    if any(p.grad is not None for p in model.parameters()):
        raise ValueError("loss must not call backward, examine does: return the loss itself")
    if not value.requires_grad:
        raise ValueError("loss must depend on parameters that require gradients; it carries no gradient")
