"""Maps of weights: queries down, keys across, and what each row amounts to beside them."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import bound_text, level_text
from transformer_anatomy.page.plotting.arrays import as_arrays, as_choice, as_labels, as_limits, as_words
from transformer_anatomy.page.plotting.layout import GAP, TITLE, Page, text_width, title_lines, widest
from transformer_anatomy.page.plotting.mapgrid import MapGrid
from transformer_anatomy.page.plotting.picture import Picture
from transformer_anatomy.page.plotting.rowdots import DOTS, NUMBERS, draw_dots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# The meanings of queries and keys, in the colours of their words.
AXES = {"queries": "query", "keys": "key-text"}
SCALES = {"weights": ("w0", "w1", "w2", "w3", "w4"), "signed": ("n4", "n3", "n2", "n1", "w0", "w1", "w2", "w3", "w4")}


def plot_heatmap(
    values: Any,
    *,
    alt: str,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    row_label: str = "queries",
    column_label: str = "keys",
    range: Sequence[float] = (0, 1),
    colors: str = "weights",
    title: str | None = None,
) -> Picture:
    """One or several maps (row, column) side by side; row 0 is at the top, as in the tensor.

    A dict may also hold one 1-D entry with a value for each row, drawn as dots beside the maps, and one 0-D entry, the
    baseline and full scale of these dots. ``colors="signed"`` wants a `range` that is symmetric about 0. Raises
    TypeError or ValueError when shapes, labels or `range` do not fit.
    """
    maps, dots, level = _sort_by_shape(as_arrays(values))
    shape = next(iter(maps.values())).shape
    rows, columns = as_labels("rows", rows, shape[0]), as_labels("columns", columns, shape[1])
    row_label, column_label = as_words("row_label", row_label), as_words("column_label", column_label)
    limits, colors = as_limits("range", range), as_choice("colors", colors, list(SCALES))
    if colors == "signed" and limits[0] != -limits[1]:
        raise ValueError(f"range must be symmetric about 0 for signed colors, got {limits}")

    def draw(figure: "Figure", palette: Mapping[str, str], width: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        color_map = LinearSegmentedColormap.from_list(colors, [palette[token] for token in SCALES[colors]])
        left = widest([*rows, f"{row_label} ↓", f"{column_label} →"]) + 12
        wide = width >= 500  # else the dots go and their values stay
        right = (GAP + DOTS if wide else 0) + NUMBERS if dots else 2
        room = width - left - right
        grid = MapGrid.fit(len(maps), shape, left=left, room=room, columns=columns, named=len(maps) > 1)
        title_rows, above = title_lines(title, width)
        alone = next(iter(maps)) if len(maps) == 1 else ""
        key = [alone or ("weight" if (colors, limits) == ("weights", (0, 1)) else "value"), *map(bound_text, limits)]
        least = max(*(text_width(row, TITLE) for row in title_rows), left + 150 + text_width("".join(key)), 0)
        page = Page(
            figure, palette, max(grid.size[0] + right, least), above + grid.size[1] + (32 if wide or not dots else 52)
        )
        page.title(title_rows)
        for place, (name, array) in enumerate(maps.items()):
            x, y = grid.corner(place)
            page.head(x, above + y - grid.head + 14, "" if alone else name)
            axes = page.axes(x, above + y, *grid.box)
            axes.imshow(array, cmap=color_map, vmin=limits[0], vmax=limits[1])
            first = place % grid.across == 0
            _label(axes, (rows if first else [""] * len(rows)), columns, grid)
            if first:
                _name(axes, row_label, column_label, grid, palette)
            _rule(axes, palette["line"], grid.cell)
            if array.size <= 25 and grid.cell >= 30:
                _print_values(axes, array)
        if dots:
            x, y = grid.corner(len(maps) - 1)
            x += grid.box[0] + (GAP if wide else 0)
            draw_dots(page.axes(x, above + y, DOTS if wide else 1, grid.box[1]), palette, dots, level, wide)
        _draw_scale(page, left, above + grid.size[1] + 14, color_map, *key)

    return Picture(draw, alt=alt)


def _sort_by_shape(arrays: dict[str, np.ndarray]) -> tuple[dict, dict, dict]:
    maps, dots, level = ({name: a for name, a in arrays.items() if a.ndim == ndim} for ndim in (2, 1, 0))
    shapes = {name: array.shape for name, array in arrays.items()}
    if len(maps) + len(dots) + len(level) < len(arrays) or not maps or len(dots) > 1 or len(level) > 1:
        raise ValueError(f"values must hold 2-D maps, at most one 1-D and one 0-D entry, got shapes {shapes}")
    if len({array.shape for array in maps.values()}) > 1:
        raise ValueError(f"values must hold maps of one shape, got shapes {shapes}")
    n_rows = len(next(iter(maps.values())))
    if any(len(array) != n_rows for array in dots.values()):
        raise ValueError(f"values must hold one dot for each of the {n_rows} rows, got shapes {shapes}")
    return maps, dots, level


def _label(axes: "Axes", rows: list[str], columns: list[str], grid: MapGrid) -> None:
    """The labels of rows and columns; where cells are lower than a line of text, every second or third."""
    size = 12 if grid.cell >= 15 else 11
    every = -(-size // max(1, int(grid.cell)))
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelsize=size)
    axes.set_xticks(np.arange(len(columns))[::every], columns[::every], rotation=90 if grid.upright else 0)
    axes.set_yticks(np.arange(len(rows))[::every], rows[::every])


def _name(axes: "Axes", down: str, across: str, grid: MapGrid, palette: Mapping[str, str]) -> None:
    """The names of the axes, one over the other in the corner."""
    width, height = grid.box
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(f"{across} →", ha="right", va="bottom", color=palette[AXES.get(across, "muted")])
    axes.set_ylabel(f"{down} ↓", ha="right", va="bottom", color=palette[AXES.get(down, "muted")], rotation=0)
    axes.xaxis.set_label_coords(-8 / width, 1 + 20 / height)
    axes.yaxis.set_label_coords(-8 / width, 1 + 4 / height)


def _rule(axes: "Axes", colour: str, cell: float) -> None:
    """Hairlines between cells large enough to carry them, else a frame; one path, which keeps the picture small."""
    n_rows, n_columns = axes.images[0].get_array().shape
    row_step, column_step = (1, 1) if cell >= 8 else (n_rows, n_columns)
    across = [(x, y) for y in range(0, n_rows + 1, row_step) for x in (0, n_columns, np.nan)]
    down = [(x, y) for x in range(0, n_columns + 1, column_step) for y in (0, n_rows, np.nan)]
    axes.plot(*(np.array(across + down).T - 0.5), color=colour, linewidth=1, clip_on=False)
    axes.set(xlim=(-0.5, n_columns - 0.5), ylim=(n_rows - 0.5, -0.5))


def _print_values(axes: "Axes", array: np.ndarray) -> None:
    """Two decimals in each cell, without their zero, black or white by the luminance below them."""
    for (i, j), value in np.ndenumerate(array):
        channels = axes.images[0].to_rgba(value)[:3]
        linear = [c / 12.92 if c <= 0.04 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        colour = "#000000" if np.dot(linear, (0.2126, 0.7152, 0.0722)) > 0.179 else "#ffffff"
        axes.text(j, i, re.sub(r"\b0\.", ".", level_text(value, 1)), ha="center", va="center", color=colour)


def _draw_scale(page: Page, left: float, top: float, color_map: "Colormap", name: str, low: str, high: str) -> None:
    """The bar that says which colour is which number."""
    start = left + text_width(f"{name} {low}") + 8
    axes = page.axes(start, top, 120, 8)
    axes.imshow(np.linspace(0, 1, 256)[None], cmap=color_map, extent=(0, 1, 0, 1))
    axes.set_axis_off()
    axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color=page.palette["line"], linewidth=1, clip_on=False)
    page.text(left, top + 9, f"{name} {low}", color=page.palette["muted"])
    page.text(start + 128, top + 9, high, color=page.palette["muted"])
