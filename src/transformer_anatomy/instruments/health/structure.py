"""Faults of how a model is put together: what is broken, hidden, shared or cut off."""

import math
from collections.abc import Iterator

from torch import nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.figures import is_inside
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.numerals import value_text
from transformer_anatomy.instruments.health.observation import Observation, what_is_wrong
from transformer_anatomy.instruments.health.stacks import Layer


def non_finite(model: nn.Module, seen: Observation, loss: float) -> Iterator[Finding]:
    """Weights that are not finite; else the first module that made such a number; else the loss or a gradient alone."""
    broken = [path for path, p in model.named_parameters() if what_is_wrong(p.detach())]
    for path in broken:
        p = model.get_parameter(path).detach()
        yield Finding("non-finite", path, f"{(~p.isfinite()).sum().item():,} of its {p.numel():,} weights are NaN or ∞")
    if broken:
        return
    gradients = [path for path, p in model.named_parameters() if p.grad is not None and what_is_wrong(p.grad)]
    made = next(iter(seen.non_finite.items()), None)
    # An infinity that reaches neither the loss nor a gradient is a mask, as modules that make biases return it.
    if made is not None and (not math.isfinite(loss) or gradients or "NaN" in made[1]):
        yield Finding("non-finite", *made)
    elif not math.isfinite(loss):
        came = f"the loss is {value_text(loss)}, though the output of every module is finite"
        yield Finding("non-finite", "", came)
    elif gradients:
        many = f"; so do those of {len(gradients) - 1} more parameters" if len(gradients) > 1 else ""
        yield Finding("non-finite", gradients[0], f"its gradient holds NaN or ∞, though the loss is finite{many}")


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
    if not silent:
        return
    reported: list[str] = []
    places = [*model.named_modules(), *model.named_parameters()]
    for path, place in places:
        mine = [place] if isinstance(place, nn.Parameter) else [p for p in place.parameters() if p.requires_grad]
        if mine and all(id(p) in silent for p in mine) and not any(is_inside(path, outer) for outer in reported):
            reported.append(path)
            parameters = "parameter" if len(mine) == 1 else "parameters"
            yield Finding("unused", path, f"no gradient arrived at its {len(mine)} {parameters}")
