"""Faults of how a model is put together: what is broken, hidden, shared or cut off."""

import math
from collections.abc import Iterator

from torch import nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer


def non_finite(model: nn.Module, seen: Observation, loss: float) -> Iterator[Finding]:
    """Weights that are not finite; else the first module that made such a number; else the loss alone."""
    broken = {path: (~p.detach().isfinite()).sum().item() for path, p in model.named_parameters()}
    for path, count in broken.items():
        if count:
            yield Finding(
                "non-finite", path, f"{count} of its {model.get_parameter(path).numel()} weights are NaN or infinite"
            )
    if any(broken.values()):
        return
    if seen.non_finite is not None:
        came = "what it was given does, too" if seen.non_finite_input else "what it was given does not"
        yield Finding("non-finite", seen.non_finite, f"its output is the first that holds NaN or infinity; {came}")
    elif not math.isfinite(loss):
        yield Finding("non-finite", "", f"the loss is {loss}, though the output of every module is finite")


def masked_out(seen: Observation) -> Iterator[Finding]:
    """Attention in which some sample has no query that may attend to any key."""
    places = [path for path, figures in seen.maps.items() if figures.blind >= at.MASKED_OUT_SHARE]
    if places:
        more = f", here and in {len(places) - 1} more places" if len(places) > 1 else ""
        yield Finding("masked-out", places[0], f"in some sample the mask hides every key from every query{more}")


def shared(stack: list[Layer]) -> Iterator[Finding]:
    """Layers that hold the same parameters as an earlier one of their stack."""
    owner: dict[int, str] = {}
    for path, module in stack:
        owners = [owner.setdefault(id(p), path) for p in module.parameters()]
        twice = [first for first in owners if first != path]
        if twice:
            yield Finding("shared", path, f"{len(twice)} of its {len(owners)} parameters are those of {twice[0]}")


def unused(model: nn.Module) -> Iterator[Finding]:
    """Trainable parameters at which no gradient arrived, named by the outermost module that holds no other."""
    silent = {id(p) for p in model.parameters() if p.requires_grad and p.grad is None}
    reported: list[str] = []
    places = [*model.named_modules(), *model.named_parameters()]
    for path, place in places:
        mine = [place] if isinstance(place, nn.Parameter) else [p for p in place.parameters() if p.requires_grad]
        if mine and all(id(p) in silent for p in mine) and not any(_inside(path, outer) for outer in reported):
            reported.append(path)
            parameters = "parameter" if len(mine) == 1 else "parameters"
            yield Finding("unused", path, f"no gradient arrived at its {len(mine)} {parameters}")


def _inside(path: str, outer: str) -> bool:
    return outer == "" or path == outer or path.startswith(f"{outer}.")
