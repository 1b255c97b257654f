"""Bars: a few numbers side by side, each of them printed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import bound_text, level_text
from transformer_anatomy.page.plotting.arrays import (
    as_arrays,
    as_labels,
    as_limits,
    as_words,
    padded_limits,
    split_named,
)
from transformer_anatomy.page.plotting.labels import Labels, beside
from transformer_anatomy.page.plotting.layout import DASHES, GAP, Page, text_width, title_lines, widest
from transformer_anatomy.page.plotting.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 160
BAR, SMALLEST = 120, 26  # px that a bar takes with the space beside it, at most and at least
CROWDED = 56  # px a bar, below which bars that print as zero are left without their number


def plot_bars(
    values: Any,
    *,
    alt: str,
    columns: Sequence[str] | None = None,
    y_label: str = "",
    range: Sequence[float] | None = None,
    baselines: Sequence[str] = (),
    title: str | None = None,
) -> Picture:
    """Bars for each 1-D entry, several entries side by side on one scale; 0-D entries in `baselines` are dashed.

    Raises TypeError or ValueError when shapes or names do not fit.
    """
    arrays = as_arrays(values)
    levels = split_named("baselines", baselines, arrays)
    groups = {name: array for name, array in arrays.items() if name not in levels}
    shapes = {name: array.shape for name, array in arrays.items()}
    lengths = {array.shape for array in groups.values()}
    if len(lengths) != 1 or len(count := next(iter(lengths))) != 1 or any(a.ndim for a in levels.values()):
        raise ValueError(f"values must hold 1-D entries of one length and 0-D baselines, got shapes {shapes}")
    columns, y_label = as_labels("columns", columns, count[0]), as_words("y_label", y_label)
    low, high = padded_limits(np.concatenate([[0.0], *map(np.ravel, arrays.values())]))
    if range is None:
        limits = (low if min(map(np.min, arrays.values())) < 0 else 0.0, high)
    else:
        limits = as_limits("range", range)
    ticks = [] if range is None else sorted({*limits, min(max(0.0, limits[0]), limits[1])})
    span = limits[1] - limits[0]

    def draw(figure: "Figure", palette: Mapping[str, str], width: float) -> None:
        title_rows, above = title_lines(title, width)
        left = widest(list(map(bound_text, ticks))) + 20 if ticks else 0
        right = widest([f"{name} −00.00" for name in levels]) + 12
        fitting = max(1, int((width - left - right + GAP) // (SMALLEST * count[0] + GAP)))
        rows = -(-len(groups) // fitting)
        across = -(-len(groups) // rows)
        wide = min(BAR * count[0], (width - left - right + GAP) / across - GAP)
        upright = widest(columns) > wide / count[0] - 4
        head = (22 if len(groups) > 1 else 0) + 16
        foot = (widest(columns) if upright else 14) + 12 if columns else 4
        top, line = above + (20 if y_label else 0), head + HEIGHT + foot + GAP
        least = max(text_width(row, 16) for row in ["", *title_rows])
        page = Page(figure, palette, max(left + across * (wide + GAP) - GAP + right, least), top + rows * line - GAP)
        page.title(title_rows)
        page.text(0, top - 6, y_label, color=palette["muted"])
        labels = Labels(page, np.empty((0, 2)))
        for place, (name, array) in enumerate(groups.items()):
            x, y = left + place % across * (wide + GAP), top + place // across * line
            page.head(x, y + 14, name if len(groups) > 1 else "")
            axes = page.axes(x, y + head, wide, HEIGHT, xlim=(-0.5, len(array) - 0.5), ylim=limits)
            axes.bar(np.arange(len(array)), array, width=0.62, color=palette["w3"], label=name)
            for style, level in zip(DASHES[:1] + DASHES[1:] * len(levels), levels.values(), strict=False):
                axes.axhline(level, linestyle=style, color=palette["muted"], linewidth=1.25)
            axes.axhline(0, color=palette["edge"], linewidth=1)
            axes.set_yticks(ticks if x == left else [], [bound_text(tick) for tick in ticks if x == left])
            axes.set_xticks(np.arange(len(columns)), columns, rotation=90 if upright else 0)
            _print_values(axes, array, sorted(map(float, levels.values())), span, wide / len(array) < CROWDED)
            if (place + 1) % across == 0 or place + 1 == len(groups):
                for name, level in sorted(levels.items(), key=lambda item: -item[1]):
                    end = y + head + HEIGHT * (limits[1] - float(level)) / span
                    words = f"{name} {level_text(float(level), span)}"
                    labels.put(beside(x + wide + 12, end, words), palette["muted"])

    return Picture(draw, alt=alt)


def _print_values(axes: "Axes", array: np.ndarray, levels: list[float], span: float, crowded: bool) -> None:
    """Each value over its bar, above any baseline that would strike it through; where crowded without the zeros."""
    style = {"textcoords": "offset points", "annotation_clip": False, "ha": "center", "va": "baseline"}
    for i, value in enumerate(array):
        text, end = level_text(value, span), max(value, 0.0)
        for level in levels:
            if -1 < (level - end) * HEIGHT / span < 17:
                end = level
        if not crowded or text.strip("−0."):
            axes.annotate(text, (i, end), (0, 5), **style)
