"""Faults of how a model is put together: what is broken, hidden, shared or cut off."""

import math
from collections.abc import Callable, Iterator

from torch import Tensor, nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.broken import first_broken_gradient, what_is_wrong
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.numerals import value_text
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer


def non_finite(model: nn.Module, seen: Observation, loss: float, compute: Callable[[], Tensor]) -> Iterator[Finding]:
    """Weights that are not finite; else the first module that made such a number; else the loss or a gradient alone.

    `compute` makes the loss once more, where the way back has to be searched.
    """
    broken = [path for path, p in model.named_parameters() if what_is_wrong(p)]
    for path in broken:
        p = model.get_parameter(path).detach()
        yield Finding("non-finite", path, f"{(~p.isfinite()).sum().item():,} of its {p.numel():,} weights are NaN or ∞")
    if broken:
        return
    gradients = [path for path, p in model.named_parameters() if p.grad is not None and what_is_wrong(p.grad)]
    made = seen.broken.first
    # An infinity that reaches neither the loss nor a gradient is a mask, as modules that make biases return it.
    if made is not None and (not math.isfinite(loss) or gradients or any(b.holds == "NaN" for b in seen.broken.all)):
        came = "what it was given holds one already" if made.given_too else "what it was given does not"
        yield Finding("non-finite", made.path, f"its output is the first that holds {made.holds}; {came}")
    elif not math.isfinite(loss):
        came = f"the loss is {value_text(loss)}, though the output of every module is finite"
        yield Finding("non-finite", "", came)
    elif gradients:
        many = f"; so do those of {len(gradients) - 1} more parameters" if len(gradients) > 1 else ""
        known = f"the gradient of {gradients[0]} holds NaN or ∞, though the loss is finite{many}"
        try:
            origin = first_broken_gradient(model, compute)
        except Exception:  # a loss may be one that can be computed only once
            origin = None
        if origin is None:
            yield Finding("non-finite", gradients[0], known)
        elif origin.made_here:
            yield Finding("non-finite", origin.path, f"it is the first on the way back that makes it: {known}")
        elif origin.path:
            yield Finding("non-finite", origin.path, f"on the way back it is there already where it arrives: {known}")
        else:
            yield Finding("non-finite", "", f"it comes from the loss itself: {known}")


def masked_out(seen: Observation) -> Iterator[Finding]:
    """Attention in which some sample has no query that may attend to any key, or whose mask shows the padding alone."""
    places = [path for path, figures in seen.maps.items() if figures.blind >= at.MASKED_OUT_SHARE]
    if places:
        more = f", here and in {len(places) - 1} more places" if len(places) > 1 else ""
        yield Finding("masked-out", places[0], f"in some sample the mask hides every key from every query{more}")
        return
    for path, only in seen.only_token.items():
        shown = f"the {only.n_visible:,} keys that the mask shows all have the id {only.id}"
        yield Finding("masked-out", path, f"{shown}, the {only.n_hidden:,} that it hides have several")


def shared(stack: list[Layer]) -> Iterator[Finding]:
    """Layers that hold the same parameters as an earlier one of their stack."""
    owner: dict[int, str] = {}
    for path, module in stack:
        owners = [owner.setdefault(id(p), path) for p in module.parameters()]
        twice = [first for first in owners if first != path]
        if twice:
            yield Finding("shared", path, f"{len(twice)} of its {len(owners)} parameters are those of {twice[0]}")
