"""A report's figures as small multiples, layer by layer."""

import math

from transformer_anatomy.instruments.health.figures import LayerFigures, stack_path
from transformer_anatomy.instruments.health.numerals import value_text

# What is drawn: its title, and the name on its curve, which decides about the colour.
PANELS = {
    "gradient": ("Gradient norm", "gradient"),
    "relative_gradient": ("Gradient · weights / loss", "gradient"),
    "similarity": ("Token similarity", "stream"),
    "entropy": ("Attention entropy, share of uniform", "entropy"),
}
SHARES = ("similarity", "entropy")


def draw_stacks(stacks: tuple[tuple[LayerFigures, ...], ...]):
    """A `Sheet` with one picture for each figure that every layer of a stack has.

    Raises `ValueError` if there is none, as for a model without repeated layers.
    """
    from transformer_anatomy.page.plotting.sheet import Sheet

    pictures = [picture for stack in stacks for name in PANELS if (picture := _draw(stack, name)) is not None]
    if not pictures:
        raise ValueError("plot needs figures of repeated layers, this report has none")
    return Sheet(pictures)


def _draw(stack: tuple[LayerFigures, ...], name: str):
    from transformer_anatomy.page.plotting.lines import plot_lines

    values = [getattr(layer, name) for layer in stack]
    if any(value is None or not math.isfinite(value) for value in values):
        return None
    title, curve = PANELS[name]
    where = stack_path(stack)
    ends = [f"{value_text(value)} in {layer.path}" for value, layer in zip(values, stack, strict=True)][
        :: len(stack) - 1
    ]
    low, high = min(0.0, *values), max(values)
    return plot_lines(
        {curve: values},
        alt=f"{title} in the layers of {where}, from {' to '.join(ends)}",
        x=list(range(len(stack))),
        x_label=f"layer of {where}",
        range=(low, max(1.0, high) if name in SHARES else 1.1 * high or 1.0),
        title=title,
    )
