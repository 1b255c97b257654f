"""How large the gradients of a model are."""

import torch
from torch import nn


def gradient_norms(model: nn.Module, *, order: float = 2.0, scale: float = 1.0) -> dict[str, float | None]:
    """The norm of each parameter's gradient by its path in the model; None where no gradient arrived, which is not 0.

    It reads and changes nothing. Half precision is accumulated in float32. `scale` is the factor that a gradient
    scaler multiplied the loss by; the norms are those without it.
    """
    return {name: _norm(parameter.grad, order, scale) for name, parameter in model.named_parameters()}


def total_norm(norms: dict[str, float | None], *, order: float = 2.0) -> float:
    """The norm of all gradients together, from `gradient_norms` of the same order; those that are None do not count."""
    present = torch.tensor([norm for norm in norms.values() if norm is not None], dtype=torch.float64)
    return torch.linalg.vector_norm(present, ord=order).item()


def _norm(gradient: torch.Tensor | None, order: float, scale: float) -> float | None:
    if gradient is None:
        return None
    values = gradient.coalesce().values() if gradient.is_sparse else gradient
    dtype = torch.promote_types(values.dtype, torch.float32)
    return torch.linalg.vector_norm(values, ord=order, dtype=dtype).item() / scale
