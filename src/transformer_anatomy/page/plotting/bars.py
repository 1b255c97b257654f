"""Bars: a few numbers side by side, each of them printed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import level_text
from transformer_anatomy.page.plotting.arrays import as_arrays, as_labels, as_limits, padded_limits, split_named
from transformer_anatomy.page.plotting.layout import GAP, TITLE, Page, name_ends, text_width, widest
from transformer_anatomy.page.plotting.picture import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 160
BAR, SMALLEST = 64, 26  # px that a bar takes with the space beside it, at most and at least


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

    Raises ValueError when shapes or names do not fit.
    """
    arrays = as_arrays(values)
    levels = split_named("baselines", baselines, arrays)
    groups = {name: array for name, array in arrays.items() if name not in levels}
    shapes = {name: array.shape for name, array in arrays.items()}
    lengths = {array.shape for array in groups.values()}
    if len(lengths) != 1 or len(count := next(iter(lengths))) != 1 or any(a.ndim for a in levels.values()):
        raise ValueError(f"values must hold 1-D entries of one length and 0-D baselines, got shapes {shapes}")
    columns = as_labels("columns", columns, count[0])
    if range is not None:
        limits = as_limits(range)
    else:
        low, high = padded_limits(np.concatenate([[0.0], *(a.ravel() for a in arrays.values())]))
        limits = (low if min(a.min() for a in arrays.values()) < 0 else 0.0, high)

    def draw(figure: "Figure", palette: Mapping[str, str], width: float) -> None:
        right = widest([f"{name} −00.00" for name in levels]) + 12
        fitting = max(1, int((width - right + GAP) // (SMALLEST * count[0] + GAP)))
        rows = -(-len(groups) // fitting)
        across = -(-len(groups) // rows)
        wide = min(BAR * count[0], (width - right + GAP) / across - GAP)
        upright = widest(columns) > wide / count[0] - 4
        head = (22 if any(groups) else 0) + 16
        foot = (widest(columns) if upright else 14) + 12 if columns else 4
        top = (TITLE if title else 0) + (20 if y_label else 0)
        page = Page(
            figure, palette, max(across * (wide + GAP) - GAP + right, text_width(title or "", 13)),
            top + rows * (head + HEIGHT + foot + GAP) - GAP,
        )  # fmt: skip
        page.title(title)
        page.text(0, top - 6, y_label, color=palette["muted"])
        for place, (name, array) in enumerate(groups.items()):
            left, above = place % across * (wide + GAP), top + place // across * (head + HEIGHT + foot + GAP)
            page.title(name, left, above + 14)
            axes = page.axes(left, above + head, wide, HEIGHT, xlim=(-0.5, len(array) - 0.5), ylim=limits)
            axes.bar(np.arange(len(array)), array, width=0.62, color=palette["w3"], label=name)
            axes.axhline(0, color=palette["edge"], linewidth=1)
            for level in levels.values():
                axes.axhline(level, linestyle="--", color=palette["muted"], linewidth=1.25)
            axes.set_yticks([])
            axes.set_xticks(np.arange(len(columns)), columns, rotation=90 if upright else 0)
            for i, value in enumerate(array):
                up = value >= 0
                axes.annotate(
                    level_text(value, limits[1] - limits[0]), (i, value), (0, 4 if up else -4), ha="center",
                    va="bottom" if up else "top", textcoords="offset points", annotation_clip=False,
                    bbox={"facecolor": palette["paper"], "edgecolor": "none", "pad": 1},
                )  # fmt: skip
            if (place + 1) % across == 0 or place + 1 == len(groups):
                span = limits[1] - limits[0]
                name_ends(
                    axes, [(float(a), f"{n} {level_text(float(a), span)}", palette["muted"]) for n, a in levels.items()]
                )

    return Picture(draw, alt=alt)
