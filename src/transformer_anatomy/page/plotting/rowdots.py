"""What each row of a map amounts to: one dot a row beside it, below its baseline."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from transformer_anatomy.page.numerals import level_text
from transformer_anatomy.page.plotting.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DOTS, NUMBERS = 142, 48  # px for the dots and for their values


def draw_dots(
    axes: "Axes", palette: Mapping[str, str], dots: dict[str, np.ndarray], level: dict[str, np.ndarray], wide: bool
) -> None:
    """One dot a row, from 0 to the level that is drawn dashed at the right, and its value; only that where narrow."""
    ((name, array),) = dots.items()
    full = float(next(iter(level.values()), array.max())) or 1.0
    axes.set_xlim(0, full)
    axes.set_ylim(len(array) - 0.5, -0.5)
    axes.set_axis_off()
    style = {"textcoords": "offset points", "annotation_clip": False, "color": palette["muted"]}
    for i, value in enumerate(array):
        axes.annotate(level_text(value, full), (full, i), (NUMBERS - 4, 0), ha="right", va="center", **style)
    right = drawable(f"{next(iter(level))} {level_text(full, full)}" if level else "")
    if not wide:
        words = f"{drawable(name)}; {right}".removesuffix("; ")
        axes.annotate(words, (full, len(array) - 0.5), (NUMBERS - 4, -34), ha="right", va="top", **style)
        return
    axes.hlines(np.arange(len(array)), 0, full, palette["line"], linewidth=1)
    axes.plot(array, np.arange(len(array)), "o", color=palette["w3"], markersize=9, markeredgewidth=0, clip_on=False)
    axes.annotate(drawable(name), (0, -0.5), (0, 4), va="bottom", **style)
    axes.annotate(right, (full, -0.5), (NUMBERS - 4, 4), ha="right", va="bottom", **style)
    if level:
        axes.vlines(full, -0.5, len(array) - 0.5, palette["muted"], linewidth=1.25, linestyle="--")
