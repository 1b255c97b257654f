"""One sample through a stack of layers: what one row reads in each layer, above the maps in which it says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import level_text
from transformer_anatomy.page.plotting.arrays import as_arrays, as_labels
from transformer_anatomy.page.plotting.layout import Page, widest
from transformer_anatomy.page.plotting.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STROKE = 16  # px: a stroke of weight 1
STEP, GAP, HEAD = 20, 12, 30  # px: between two streams; between layers; above a line of layers for their names
NARROW = 500  # px: below, three layers stand in a line


def plot_layers(
    values: Any,
    *,
    alt: str,
    rows: Sequence[str] | None = None,
    notes: Sequence[str] | None = None,
    note_label: str = "",
    chosen: Mapping[str, Any],
    range: Sequence[float] = (0, 1),
) -> Picture:
    """The chosen head of each layer, of weights (layer, head, row, row): strokes into the chosen row, and its map.

    `chosen` is complete, as `as_chosen` makes it; `notes` and the other entries of `values` are for the moving figure.
    """
    maps = next(array for array in as_arrays(values).values() if array.ndim == 4)
    n_layers, _, n, _ = maps.shape
    rows = as_labels("rows", rows, n) or [str(place) for place in np.arange(1, n + 1)]
    heads, row = chosen["heads"], min(chosen["row"], n - 1)

    def draw(figure: Figure, palette: Mapping[str, str], width: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        colours = LinearSegmentedColormap.from_list("weights", [palette[f"w{k}"] for k in np.arange(5)])
        left = min(widest(rows) + 14, 0.3 * width)
        across = n_layers if width >= NARROW else min(3, n_layers)
        broad = (width - left - GAP * (across - 1)) / across
        tall = HEAD + n * STEP + 16 + broad
        page = Page(figure, palette, width, -(-n_layers // across) * (tall + GAP))
        axes = page.axes(0, 0, page.width, page.height, xlim=(0, page.width), ylim=(page.height, 0), autoscale_on=False)
        axes.set_axis_off()
        for layer, head in enumerate(heads):
            line, column = divmod(layer, across)
            x, top = left + column * (broad + GAP), line * (tall + GAP)
            weights = maps[layer, head - 1]
            page.text(x, top + 16, f"Layer {layer + 1}", weight="bold")
            page.text(x + broad, top + 16, f"head {head}", color=palette["muted"], ha="right")
            if column == 0:
                _name_rows(page, palette, rows, row, left, top)
            _draw_strokes(axes, palette, weights[row], row, x, top + HEAD, broad)
            box = (x, x + broad, top + tall, top + tall - broad)
            axes.imshow(weights, cmap=colours, vmin=range[0], vmax=range[1], extent=box, aspect="auto", zorder=1)
            edge = top + tall - broad + np.array([row, row, row + 1, row + 1, row]) * broad / n
            axes.plot(x + broad * np.array([0, 1, 1, 0, 0]), edge, color=palette["query"], linewidth=2)

    return Picture(draw, alt=alt)


def _name_rows(page: Page, palette: Mapping[str, str], rows: Sequence[str], row: int, left: float, top: float) -> None:
    for place, name in enumerate(rows):
        style = {"color": palette["query"], "weight": "bold"} if place == row else {}
        page.text(left - 8, top + HEAD + (place + 0.5) * STEP + 4, name, ha="right", **style)


def _draw_strokes(
    axes: Axes, palette: Mapping[str, str], weights: np.ndarray, row: int, x: float, top: float, broad: float
) -> None:
    """The streams as lines, and a stroke from each key to the query, as thick as its weight; the largest is named."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    y = top + (np.arange(len(weights)) + 0.5) * STEP
    start, end = x + 6, x + broad - 6
    across = np.tile([x, x + broad, np.nan], len(y))  # one path, which keeps the picture small
    axes.plot(across, np.repeat(y, 3), color=palette["stream"], linewidth=1, alpha=0.4)
    axes.plot([x, x + broad + GAP], [y[row], y[row]], color=palette["query"], linewidth=2)
    middle, read = (start + end) / 2, np.flatnonzero(weights > 0.015)
    for place in read:
        bend = Path([(start, y[place]), (middle, y[place]), (middle, y[row]), (end, y[row])], [1, 4, 4, 4])
        thick = max(0.75, STROKE * weights[place])
        axes.add_patch(PathPatch(bend, fill=False, edgecolor=palette["w3"], linewidth=thick, alpha=0.85))
    axes.plot([start] * len(read), y[read], "o", color=palette["key"], markersize=5)
    axes.plot([end], [y[row]], "o", color=palette["query"], markersize=9)
    best = int(weights.argmax())
    above = -8 if best < row or best == 0 else 18
    axes.text(start + 8, y[best] + above, level_text(weights[best], 1), color=palette["ink"], size=12)
