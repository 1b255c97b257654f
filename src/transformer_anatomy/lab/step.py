"""One step of training, and one look at the model between steps."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.health import first_non_finite
from transformer_anatomy.lab.parallel import average, average_gradients, own_share

Batch = object  # whatever `loss` understands: tensors, or tuples and dicts of them, samples first
Batches = Callable[[torch.Generator], Batch]
Loss = Callable[[nn.Module, Batch], Tensor]
Evaluate = Callable[[nn.Module], dict[str, float]]


def take_step(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    *,
    rate: float,
    clip: float | None,
    seed: int,
) -> dict[str, float]:
    """One step; its loss, and the norm of its gradient before clipping.

    Raises `FloatingPointError`, and leaves the weights as they were, when either is not finite.
    """
    device = next(model.parameters()).device
    batch = _move(own_share(batches(torch.Generator().manual_seed(seed))), device)
    torch.manual_seed(seed)
    value = loss(model.train(), batch)
    if not value.isfinite():
        torch.manual_seed(seed)
        raise FloatingPointError(f"the loss is {value.item()}: {first_non_finite(model, lambda m: loss(m, batch))}")
    optimizer.zero_grad()
    value.backward()
    average_gradients(model)
    norm = nn.utils.clip_grad_norm_(model.parameters(), math.inf if clip is None else clip)
    if not norm.isfinite():
        broken = [name for name, p in model.named_parameters() if p.grad is not None and not p.grad.isfinite().all()]
        raise FloatingPointError(f"the loss is finite, the gradient of {' and '.join(broken[:1])} is not")
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    mean = value.detach().clone()
    average([mean])
    return {"loss": mean.item(), "gradient_norm": norm.item()}


def evaluated(model: nn.Module, evaluate: Evaluate) -> dict[str, float]:
    """The figures of `evaluate`, in evaluation mode and without gradients."""
    with torch.no_grad():
        return {name: float(figure) for name, figure in evaluate(model.eval()).items()}


def _move(batch: Batch, device: torch.device) -> Batch:
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, dict):
        return {name: _move(part, device) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [_move(part, device) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch
