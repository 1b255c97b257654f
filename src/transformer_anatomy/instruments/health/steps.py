"""Faults of the step that an optimiser takes."""

from collections.abc import Iterator, Sequence
from statistics import median

import torch
from torch import nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.numerals import percent_text
from transformer_anatomy.instruments.updates import Update, try_step


def try_steps(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> dict[str, Update]:
    """What one step of each optimiser does, together: each parameter is moved by the one that holds it."""
    together: dict[str, Update] = {}
    for optimizer in optimizers:
        for path, update in try_step(model, optimizer).items():
            if path not in together or update.ratio > together[path].ratio:
                together[path] = update
    return together


def badly_updated(
    model: nn.Module, updates: dict[str, Update], optimizers: Sequence[torch.optim.Optimizer]
) -> Iterator[Finding]:
    """The matrices that a step moves most and least, if too much or not at all."""
    reached = {path: p for path, p in model.named_parameters() if p.dim() > 1 and p.grad is not None and p.grad.any()}
    resting = set(waiting(model, optimizers))
    moved = {path: updates[path] for path in reached if path in updates and path not in resting}
    if not moved:
        return
    usual = median(update.ratio for update in moved.values())
    most = max(moved, key=lambda path: moved[path].ratio)
    ratio = moved[most].ratio
    apart = ratio > at.UNLIKE_THE_OTHERS * usual
    if ratio > at.REPLACING_UPDATE or (ratio > at.LARGE_UPDATE and apart):
        beside = f"{percent_text(usual)} is the median of all matrices" if apart else "0.1 % to 10 % are usual"
        yield Finding("update-too-large", most, f"one step changes it by {percent_text(ratio)} of its size; {beside}")
    least = max(moved, key=lambda path: moved[path].stuck)
    if moved[least].stuck > at.STUCK_SHARE:
        share = (
            f"{percent_text(moved[least].stuck)} of its weights that have a gradient stay as they are after one step"
        )
        yield Finding("update-too-small", least, f"{share}: {_why_stuck(reached[least], optimizers)}")


def waiting(model: nn.Module, optimizers: Sequence[torch.optim.Optimizer]) -> list[str]:
    """Parameters that the schedule of their optimiser lets rest in this step: it has set their learning rate to 0."""
    groups = [group for one in optimizers for group in one.param_groups]
    resting = [group for group in groups if float(group.get("initial_lr", 0)) > 0 and float(group["lr"]) == 0]
    held = {id(p) for group in resting for p in group["params"]}
    return [path for path, p in model.named_parameters() if id(p) in held]


def _why_stuck(p: nn.Parameter, optimizers: Sequence[torch.optim.Optimizer]) -> str:
    groups = [group for one in optimizers for group in one.param_groups if any(p is held for held in group["params"])]
    if not groups:
        return f"{'none of the optimizers holds' if len(optimizers) > 1 else 'the optimizer does not hold'} it"
    if all(float(group.get("lr", 1.0)) == 0 for group in groups):
        return "its learning rate is 0"
    return f"in {str(p.dtype).removeprefix('torch.')} the step is too small to show"
