"""How large the gradients of a model are."""

import torch
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_module, check_positive
from transformer_anatomy.model.device import widest_dtype


def gradient_norms(model: nn.Module, *, order: float = 2.0, scale: float = 1.0) -> dict[str, float | None]:
    """The norm of each parameter's gradient by its path in the model; None where no gradient arrived, which is not 0.

    It reads and changes nothing. `order` 2 is the Euclidean norm, 1 a sum, `math.inf` the largest entry. `scale` is the
    factor that a gradient scaler multiplied the loss by; the norms are those without it. They are accumulated in
    float64 (on MPS float32), so that none overflows on the way.
    """
    check_module("model", model)
    _check_order(order)
    check_positive("scale", scale)
    return {name: _norm(parameter.grad, order, scale) for name, parameter in model.named_parameters()}


def total_norm(norms: dict[str, float | None], *, order: float = 2.0) -> float | None:
    """The norm of all gradients together, from `gradient_norms` of the same order; None where none arrived at all."""
    _check_order(order)
    arrived = [norm for norm in norms.values() if norm is not None]
    return torch.linalg.vector_norm(torch.tensor(arrived, dtype=torch.float64), ord=order).item() if arrived else None


def _norm(gradient: Tensor | None, order: float, scale: float) -> float | None:
    if gradient is None:
        return None
    values = gradient.coalesce().values() if gradient.is_sparse else gradient
    if not values.numel():
        return 0.0
    wide = torch.promote_types(values.dtype, widest_dtype(values.device))
    return torch.linalg.vector_norm(values, ord=order, dtype=wide).item() / scale


def _check_order(order: float) -> None:
    if not order > 0:
        raise ValueError(f"order must be a number above 0, such as 1, 2 or math.inf, got {order!r}")
