"""Faults of the step that an optimiser takes."""

from collections.abc import Iterator
from statistics import median

import torch
from torch import nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.numerals import percent_text
from transformer_anatomy.instruments.updates import Update


def badly_updated(model: nn.Module, updates: dict[str, Update], optimizer: torch.optim.Optimizer) -> Iterator[Finding]:
    """The matrices that a step moves most and least, if too much or not at all."""
    reached = {path: p for path, p in model.named_parameters() if p.dim() > 1 and p.grad is not None and p.grad.any()}
    moved = {path: updates[path] for path in reached if path in updates}
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
        mine = {id(p) for group in optimizer.param_groups for p in group["params"]}
        why = f"in {str(reached[least].dtype).removeprefix('torch.')} the step is too small to show"
        why = why if id(reached[least]) in mine else "the optimizer does not hold it"
        share = (
            f"{percent_text(moved[least].stuck)} of its weights that have a gradient stay as they are after one step"
        )
        yield Finding("update-too-small", least, f"{share}: {why}")
