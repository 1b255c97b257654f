"""From figures to findings, the likely cause first."""

from collections.abc import Iterator

from torch import nn

from transformer_anatomy.instruments.health import signals, structure
from transformer_anatomy.instruments.health.figures import LayerFigures
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer


def diagnose(
    model: nn.Module, stacks: list[list[Layer]], figures: list[list[LayerFigures]], seen: Observation, loss: float
) -> Iterator[Finding]:
    """What one pass tells; what breaks the most comes before what follows from it."""
    yield from structure.masked_out(seen)
    broken = list(structure.non_finite(model, seen, loss))
    yield from broken
    for stack in stacks:
        yield from structure.shared(stack)
    if broken:  # The other figures mean nothing any more.
        return
    yield from structure.unused(model)
    for stack, layers in zip(stacks, figures, strict=True):
        yield from signals.collapsed(layers, seen)
        yield from signals.exploding(layers, seen)  # before the sharp attention that comes of it
        yield from signals.saturated(layers, seen)
        yield from signals.dead(layers, seen)
        yield from signals.vanishing(stack, layers, seen)
