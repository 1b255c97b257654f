"""One step of training, and one look at the model between steps."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from transformer_anatomy.lab.batch import Batch, count_samples, map_tensors
from transformer_anatomy.lab.diagnosis import first_broken_gradient, first_broken_output, first_broken_weight
from transformer_anatomy.lab.modes import modes_kept
from transformer_anatomy.lab.parallel import (
    any_process,
    average,
    average_gradients,
    n_processes,
    of_first_process,
    own_share,
    rank,
    share,
)
from transformer_anatomy.lab.randomness import seed_everything, step_seeds

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
    batch, compute = _prepare(model, batches, loss, step=step, seed=seed)
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
    share(model.buffers())
    return average(value.detach()).item(), norm.item()


def draw_batch(batches: Batches, *, step: int, seed: int) -> Batch:
    """The batch of a step, drawn with `seed` and `step` alone: by the generator, or by any other random numbers.

    Raises `ValueError` when there is none or it holds no samples.
    """
    (data_seed,) = step_seeds(seed, step, 1)
    seed_everything(*step_seeds(data_seed, step, 1), torch.device("cpu"))
    try:
        batch = batches(torch.Generator().manual_seed(data_seed))
    except StopIteration:
        raise ValueError(f"batches must give a batch for every step, at step {step} there was no other") from None
    count_samples(batch)
    return batch


def first_loss(model: nn.Module, batches: Batches, loss: Loss, *, seed: int) -> float:
    """The loss of the first step, for a model that stands where the run began. It leaves the model as it was."""
    _, compute = _prepare(model, batches, loss, step=0, seed=seed)
    buffers = [buffer.clone() for buffer in model.buffers()]
    with torch.no_grad():
        value = compute()
        for buffer, before in zip(model.buffers(), buffers, strict=True):
            buffer.copy_(before)
    _check_scalar(value)
    return average(value).item()


def evaluated(model: nn.Module, evaluate: Evaluate) -> dict[str, float]:
    """The figures of `evaluate`, in evaluation mode and without gradients; then each module is in its mode again."""
    with torch.no_grad(), modes_kept(model):
        figures = evaluate(model.eval())
    if not isinstance(figures, Mapping) or not figures:
        raise TypeError(f"evaluate must return figures by name, such as {{'accuracy': 0.9}}, got {figures!r}")
    for name, figure in figures.items():
        if not isinstance(name, str):
            raise TypeError(f"evaluate must name its figures by words, got {name!r}")
        try:
            float(figure)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"evaluate must return a number for each name, got {name} = {figure!r}") from None
    return dict(zip(figures, of_first_process([float(figure) for figure in figures.values()]), strict=True))


def _prepare(
    model: nn.Module, batches: Batches, loss: Loss, *, step: int, seed: int
) -> tuple[Batch, Callable[[], Tensor]]:
    """The share of a step's batch that this process computes, and what computes its loss, as often as it is called."""
    device = next(model.parameters()).device
    batch = draw_batch(batches, step=step, seed=seed)
    batch = map_tensors(lambda tensor: tensor.to(device), own_share(batch))
    _, *model_seeds = step_seeds(seed, step, 1 + n_processes())

    def compute() -> Tensor:
        seed_everything(model_seeds[rank()], device)
        return loss(model, batch)

    return batch, compute


def _check_scalar(value: object) -> None:
    if not isinstance(value, Tensor) or value.numel() != 1:
        came = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"loss must return a scalar tensor, got {came}")


def _check_loss(value: object) -> None:
    _check_scalar(value)
    if not value.requires_grad:
        raise ValueError("loss must depend on parameters that require gradients; it carries no gradient")
