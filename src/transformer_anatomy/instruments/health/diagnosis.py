"""From figures to findings, the likely cause first."""

from collections.abc import Callable, Iterator

from torch import Tensor, nn

from transformer_anatomy.instruments.health import signals, structure
from transformer_anatomy.instruments.health.figures import LayerFigures
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.health.unused import silent


def diagnose(
    model: nn.Module,
    stacks: list[list[Layer]],
    figures: list[list[LayerFigures]],
    seen: Observation,
    loss: float,
    compute: Callable[[], Tensor],
) -> Iterator[Finding]:
    """What one pass tells; what breaks the most comes before what follows from it. `compute` makes the loss again."""
    yield from structure.masked_out(seen)
    broken = list(structure.non_finite(model, seen, loss, compute))
    yield from broken
    for stack in stacks:
        yield from structure.shared(stack)
    if broken:  # The other figures mean nothing any more.
        return
    yield from (finding for finding, fault in silent(model, stacks, seen) if fault)
    for layers in figures:
        yield from signals.collapsed(layers, seen)
        yield from signals.exploding(layers, seen)  # before the sharp attention that comes of it
        yield from signals.saturated(layers, seen)
    yield from signals.dead({layer.path for stack in stacks for layer in stack}, seen)
    for stack, layers in zip(stacks, figures, strict=True):
        yield from signals.vanishing(model, stack, layers, seen)
