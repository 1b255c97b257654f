"""One step of training, and one look at the model between steps."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from transformer_anatomy.lab.batch import Batch, count_samples, map_tensors
from transformer_anatomy.lab.diagnosis import first_broken_gradient, first_broken_output, first_broken_weight
from transformer_anatomy.lab.parallel import (
    any_process,
    average,
    average_gradients,
    n_processes,
    of_first_process,
    own_share,
    rank,
)
from transformer_anatomy.lab.randomness import seed_device, step_seeds

Batches = Callable[[torch.Generator], Batch]
Loss = Callable[[nn.Module, Batch], Tensor]
Evaluate = Callable[[nn.Module], Mapping[str, float]]


def take_step(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    *,
    step: int,
    seed: int,
    clip: float | None,
) -> tuple[float, float]:
    """One step; its loss, and the norm of its gradient before clipping.

    What is random depends on `seed` and `step` alone. Raises `FloatingPointError` when the loss or its gradient is not
    finite, and leaves the weights as they were, or when the step itself leaves weights that are not.
    """
    device = next(model.parameters()).device
    data_seed, *model_seeds = step_seeds(seed, step, 1 + n_processes())
    batch = batches(torch.Generator().manual_seed(data_seed))
    count_samples(batch)
    batch = map_tensors(lambda tensor: tensor.to(device), own_share(batch))

    def compute() -> Tensor:
        seed_device(device, model_seeds[rank()])
        return loss(model, batch)

    model.train()
    model.zero_grad()
    value = compute()
    _check_loss(value)
    finite = bool(value.isfinite())
    if any_process(not finite):
        where = "it is not finite in another process" if finite else first_broken_output(model, compute, batch)
        raise FloatingPointError(f"stopped at step {step}: the loss is {value.item()}; {where}")
    value.backward()
    average_gradients(model)
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if not gradients:
        raise ValueError("loss must depend on the parameters of model; no gradient arrived at any of them")
    norm = nn.utils.get_total_norm(gradients)
    if not norm.isfinite():
        raise FloatingPointError(
            f"stopped at step {step}: the loss is finite, its gradient is not; {first_broken_gradient(model, compute)}"
        )
    if clip is not None:
        nn.utils.clip_grads_with_norm_(model.parameters(), clip, norm)
    optimizer.step()
    size = nn.utils.get_total_norm([p.detach() for p in model.parameters()])
    if not size.isfinite() and (name := first_broken_weight(model)):
        raise FloatingPointError(f"stopped after step {step}: it left NaN or infinity in {name}")
    return average(value.detach()).item(), norm.item()


def evaluated(model: nn.Module, evaluate: Evaluate) -> dict[str, float]:
    """The figures of `evaluate`, in evaluation mode and without gradients."""
    with torch.no_grad():
        figures = evaluate(model.eval())
    if not isinstance(figures, Mapping) or not figures:
        raise TypeError(f"evaluate must return figures by name, such as {{'accuracy': 0.9}}, got {figures!r}")
    return dict(zip(figures, of_first_process([float(figure) for figure in figures.values()]), strict=True))


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Afterwards each module of `model` is in training or evaluation, as it was."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _check_loss(value: object) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1:
        came = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"loss must return a scalar tensor, got {came}")
    if not value.requires_grad:
        raise ValueError("loss must depend on parameters that require gradients; it carries no gradient")
