"""Curves, with the spread as a band, the baseline dashed, and every name on its line."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import bound_text, level_text
from transformer_anatomy.page.plotting.arrays import (
    as_arrays,
    as_choice,
    as_limits,
    as_places,
    as_words,
    padded_limits,
    split_named,
)
from transformer_anatomy.page.plotting.labels import Labels, Line, Place, around, dense
from transformer_anatomy.page.plotting.layout import DASHES, Page, text_width, title_lines, widest
from transformer_anatomy.page.plotting.picture import Picture
from transformer_anatomy.page.plotting.themes import curve_tokens
from transformer_anatomy.page.plotting.ticks import own_steps, round_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT, LEFT = 200, 60
NARROWEST = 220  # px that the lines need beside their names; else the names go among the lines


def plot_lines(
    values: Any,
    *,
    alt: str,
    x: Any = None,
    x_label: str = "",
    y_label: str = "",
    x_scale: str = "linear",
    range: Sequence[float] | None = None,
    baselines: Sequence[str] = (),
    points: Sequence[str] = (),
    title: str | None = None,
) -> Picture:
    """Curves (x,), and curves in a band (3, x) = lower, middle, upper, named and valued at their ends.

    Curves that end together are named where they are apart. `x` holds numbers, by default 1, 2, 3..., or names.
    Entries named in `baselines`, 0-D or (x,), are dashed; entries named in `points` have shape (2,) = x, y. `range` is
    that of y. Raises TypeError or ValueError when shapes or names do not fit.
    """
    arrays = as_arrays(values)
    levels, dots = split_named("baselines", baselines, arrays), split_named("points", points, arrays)
    curves = {name: array for name, array in arrays.items() if name not in (*levels, *dots)}
    x_label, y_label = as_words("x_label", x_label), as_words("y_label", y_label)
    log = as_choice("x_scale", x_scale, ("linear", "log")) == "log"
    xs, names = as_places("x", x, _length(curves, levels, dots))
    across = np.concatenate([xs, *(array[:1] for array in dots.values())])
    if log and across.min() <= 0:
        raise ValueError(f"x must be above 0 on a log scale, also of points, got {across.min():g}")
    heights = np.concatenate([*map(np.ravel, (*curves.values(), *levels.values())), *(a[1:] for a in dots.values())])
    limits = padded_limits(heights) if range is None else as_limits("range", range)

    def say(name: str, value: float) -> str:
        return f"{name} {level_text(float(value), limits[1] - limits[0])}".strip()

    def draw(figure: "Figure", palette: Mapping[str, str], width: float) -> None:
        title_rows, above = title_lines(title, width)
        top = above + (26 if y_label else 14)
        room = 12 + widest([say(name, -9.99) for name in (*curves, *levels)])
        beside = width - LEFT - room >= NARROWEST
        wide = width - LEFT - (room if beside else 20)
        page = Page(figure, palette, width, top + HEIGHT + (46 if x_label else 28))
        page.title(title_rows)
        page.text(LEFT + wide, top + HEIGHT + 42, x_label, color=palette["muted"], ha="right")
        axes = page.axes(LEFT, top, wide, HEIGHT, xscale=x_scale, ylim=limits)
        axes.set_xlim(across.min(), across.max() if across.max() > across.min() else across.max() + 1)
        _tick(axes, names or [(step, bound_text(step)) for step in own_steps(xs) or round_steps(*axes.get_xlim(), log)])

        lines = _draw_curves(page, axes, xs, curves, say) + _draw_levels(page, axes, xs, levels, say)
        spots = {name: page.pixels(axes, *array) for name, array in dots.items()}
        ink = [*(dense(line.points) for line in lines), *(np.add(spot, [(-4, 0), (4, 0)]) for spot in spots.values())]
        labels = Labels(page, np.concatenate(ink), left=LEFT - 26, bottom=top + HEIGHT + 10)
        labels.put([Place(0, above + 10, "left", y_label)], palette["muted"])
        for name, (spot,) in spots.items():
            axes.plot(*dots[name], "o", ms=9, color=palette["w3"], mec=palette["paper"], clip_on=False)
            words = say(name, dots[name][1])
            labels.put([*around(spot, words), *list(around(spot, words, 3, 2.4))[:2]], palette["ink"])
        few = len(curves) == 1 and len(xs) <= 8
        labels.name(lines, LEFT + wide + 12 if beside else None, valued=not few)
        if few:
            shown = lines[0].points[:-1] if beside else lines[0].points
            for point, value in zip(shown, axes.lines[0].get_ydata(), strict=False):
                labels.put(around(point, say("", value)), palette["ink"])

    return Picture(draw, alt=alt)


def _draw_curves(page: Page, axes: "Axes", xs: np.ndarray, curves: dict[str, np.ndarray], say: Callable) -> list[Line]:
    lines = []
    for name, token in curve_tokens(list(curves)).items():
        bands, color = curves[name].reshape(-1, len(xs)), page.palette[token]
        middle = bands[len(bands) // 2]
        if len(bands) == 3:
            axes.fill_between(xs, bands[0], bands[2], color=color, alpha=0.13, linewidth=0)
        _plot(axes, xs, middle, color=color, label=name)
        if len(xs) <= 12:
            inside = (middle >= axes.get_ylim()[0]) & (middle <= axes.get_ylim()[1])
            axes.plot(xs[inside], middle[inside], "o", ms=9, color=color, mec=page.palette["paper"], clip_on=False)
        ink = page.palette["ink"] if token in ("w2", "w3", "edge") else page.palette.get(f"{token}-text", color)
        lines.append(Line(page.pixels(axes, xs, middle), ink, name, say(name, middle[-1]), flat=False))
    return lines


def _plot(axes: "Axes", xs: np.ndarray, heights: np.ndarray, **style: Any) -> None:
    """A line that is cut off where it leaves the picture, but not at half its width where it only touches the edge."""
    low, high = axes.get_ylim()
    axes.plot(xs, heights, clip_on=bool(heights.min() < low or heights.max() > high), **style)


def _draw_levels(page: Page, axes: "Axes", xs: np.ndarray, levels: dict[str, np.ndarray], say: Callable) -> list[Line]:
    lines, color = [], page.palette["muted"]
    for place, (name, array) in enumerate(levels.items()):
        level = np.broadcast_to(array, xs.shape)
        _plot(axes, xs, level, linestyle=DASHES[min(place, 1)], color=color, linewidth=1.25, label=name)
        lines.append(Line(page.pixels(axes, xs, level), color, name, say(name, level[-1]), flat=array.ndim == 0))
    return lines


def _tick(axes: "Axes", steps: Sequence[tuple[float, str]]) -> None:
    """Round numbers up the y axis; along x the steps, or every second or third where their texts would touch."""
    axes.spines["left"].set_position(("outward", 28))
    axes.spines["bottom"].set_position(("outward", 8))
    axes.set_yticks(*zip(*((step, bound_text(step)) for step in round_steps(*axes.get_ylim())), strict=True))
    for every in range(1, len(steps) + 1):
        places, texts = zip(*steps[::every], strict=True)
        pixels = axes.transData.transform([(place, axes.get_ylim()[0]) for place in places])[:, 0]
        if all(gap > text_width(text) + 8 for gap, text in zip(np.diff(pixels), texts[1:], strict=True)):
            break
    axes.set_xticks(places, texts)
    axes.minorticks_off()


def _length(curves: dict[str, np.ndarray], levels: dict[str, np.ndarray], dots: dict[str, np.ndarray]) -> int:
    """How many points the curves have, once everything has the shape that goes with them."""
    if not curves:
        raise ValueError("values must hold at least one curve besides baselines and points, got none")
    for name, array in curves.items():
        if array.ndim != 1 and not (array.ndim == 2 and len(array) == 3):
            raise ValueError(f"values[{name!r}] must have shape (x,) or (3, x), got {array.shape}")
    length = next(iter(curves.values())).shape[-1]
    for name, array in {**curves, **levels}.items():
        if array.shape[-1:] not in ((), (length,)):
            raise ValueError(f"values[{name!r}] must have {length} points, got shape {array.shape}")
    for name, array in dots.items():
        if array.shape != (2,):
            raise ValueError(f"values[{name!r}] must have shape (2,) = x, y, got {array.shape}")
    return length
