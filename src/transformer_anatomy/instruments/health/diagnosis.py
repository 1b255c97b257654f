"""From a look at a model to findings, the likely cause first, and to notes."""

from collections.abc import Iterator

from transformer_anatomy.instruments.health import sharpness, signals, structure
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.look import Look
from transformer_anatomy.instruments.health.place import is_attention
from transformer_anatomy.instruments.health.steps import badly_updated, waiting
from transformer_anatomy.instruments.health.unused import bystanders, cut_off


def diagnose(look: Look) -> Iterator[Finding]:
    """What one look tells; what breaks the most comes before what follows from it."""
    seen, stacks = look.seen, list(zip(look.stacks, look.figures, strict=True))
    yield from structure.masked_out(seen)
    broken = list(structure.non_finite(look.model, seen, look.loss, look.again))
    yield from broken
    for stack, _ in stacks:
        yield from structure.shared(stack)
    if broken:  # The other figures mean nothing any more.
        return
    yield from cut_off(look.model, look.stacks, seen)
    for figures in look.figures:
        yield from signals.collapsed(figures, seen)
        yield from signals.exploding(figures, seen)  # before the sharp attention that comes of it
        yield from sharpness.saturated(figures, seen)
    layers = {layer.path for stack in look.stacks for layer in stack}
    yield from sharpness.saturated_alone(layers, seen)
    yield from signals.dead(layers, seen)
    for stack, figures in stacks:
        yield from signals.vanishing(look.model, stack, figures, seen)
    yield from badly_updated(look.model, look.updates, look.optimizers)


def notes_on(look: Look) -> Iterator[str]:
    """What need not be a fault but limits what the report says."""
    seen = look.seen
    yield from bystanders(look.model, look.stacks, seen)
    if resting := waiting(look.model, look.optimizers):
        yield f"the learning rate of {len(resting)} parameters is 0 at this step of its schedule; try a later one"
    attending = (path for path in sorted(seen.ran) if is_attention(look.model.get_submodule(path)))
    if not seen.maps and (unseen := next(attending, None)) is not None:
        yield f"the attention of {unseen or 'the model'} was not seen, so saturated and masked-out were not judged"
