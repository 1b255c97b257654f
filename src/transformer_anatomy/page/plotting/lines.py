"""Curves, with the spread as a band, the baseline dashed, and every name at the end of its line."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.numerals import bound_text, level_text
from transformer_anatomy.page.plotting.arrays import as_array, as_arrays, as_limits, padded_limits, split_named
from transformer_anatomy.page.plotting.fonts import drawable
from transformer_anatomy.page.plotting.layout import TITLE, Page, name_ends, widest
from transformer_anatomy.page.plotting.picture import Picture
from transformer_anatomy.page.plotting.themes import curve_tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 210
LEFT = 46


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
    """Curves (x,), and curves in a band (3, x) = lower, middle, upper, each named and valued at its end.

    Entries named in `baselines`, 0-D or (x,), are dashed; entries named in `points` have shape (2,) = x, y. `range` is
    that of y. Raises ValueError when shapes or names do not fit.
    """
    arrays = as_arrays(values)
    levels, dots = split_named("baselines", baselines, arrays), split_named("points", points, arrays)
    curves = {name: array for name, array in arrays.items() if name not in (*levels, *dots)}
    xs = _check_shapes(curves, levels, dots, x)
    if x_scale not in ("linear", "log"):
        raise ValueError(f"x_scale must be 'linear' or 'log', got {x_scale!r}")
    if x_scale == "log" and xs.min() <= 0:
        raise ValueError(f"x must be above 0 on a log scale, got {xs.min():g}")
    heights = [*curves.values(), *levels.values(), *(array[1:] for array in dots.values())]
    limits = as_limits(range) if range is not None else padded_limits(np.concatenate([a.ravel() for a in heights]))

    def draw(figure: "Figure", palette: Mapping[str, str], width: float) -> None:
        head = (TITLE if title else 0) + (24 if y_label else 8)
        wide = width >= 500
        right = 12 + widest([f"{name} −00.00" for name in (*curves, *levels)]) if wide else 8
        page = Page(figure, palette, width, head + HEIGHT + (44 if x_label else 28))
        page.title(title)
        page.text(0, head - 12, y_label, color=palette["muted"])
        axes = page.axes(LEFT, head, width - LEFT - right, HEIGHT, xscale=x_scale, ylim=limits)
        axes.set_xlim(xs.min(), xs.max() if len(xs) > 1 else xs.max() + 1)
        axes.set_xlabel(drawable(x_label), ha="right")
        axes.xaxis.set_label_coords(1, -24 / HEIGHT)
        _mark(axes, xs, 12 if wide else 6)
        ends = []
        for name, token in curve_tokens(list(curves)).items():
            bands = curves[name].reshape(-1, len(xs))
            middle = bands[len(bands) // 2]
            if len(bands) == 3:
                axes.fill_between(xs, bands[0], bands[2], color=palette[token], alpha=0.13, linewidth=0)
            axes.plot(xs, middle, color=palette[token], label=name)
            colour = palette["ink"] if token in ("w2", "w3", "edge") else palette.get(f"{token}-text", palette[token])
            ends.append((middle[-1], f"{name} {level_text(middle[-1], limits[1] - limits[0])}", colour))
        for name, array in levels.items():
            level = np.broadcast_to(array, xs.shape)
            axes.plot(xs, level, "--", color=palette["muted"], linewidth=1.25, label=name)
            ends.append((level[-1], f"{name} {level_text(level[-1], limits[1] - limits[0])}", palette["muted"]))
        for name, (across, up) in dots.items():
            axes.plot(
                across, up, "o", color=palette["w3"], markersize=9, markeredgecolor=palette["paper"], clip_on=False
            )
            axes.annotate(drawable(name), (across, up), (0, 10), textcoords="offset points", ha="center")
        name_ends(axes, ends, beside=wide)

    return Picture(draw, alt=alt)


def _check_shapes(
    curves: dict[str, np.ndarray], levels: dict[str, np.ndarray], dots: dict[str, np.ndarray], x: Any
) -> np.ndarray:
    if not curves:
        raise ValueError("values must hold at least one curve besides baselines and points, got none")
    for name, array in curves.items():
        if array.ndim != 1 and not (array.ndim == 2 and len(array) == 3):
            raise ValueError(f"values[{name!r}] must have shape (x,) or (3, x), got {array.shape}")
    length = next(iter(curves.values())).shape[-1]
    xs = np.arange(length, dtype=float) if x is None else as_array("x", x)
    if xs.shape != (length,):
        raise ValueError(f"x must have shape ({length},), one value a point, got {xs.shape}")
    for name, array in {**curves, **levels}.items():
        if array.shape[-1:] not in ((), (length,)):
            raise ValueError(f"values[{name!r}] must have {length} points, got shape {array.shape}")
    for name, array in dots.items():
        if array.shape != (2,):
            raise ValueError(f"values[{name!r}] must have shape (2,) = x, y, got {array.shape}")
    return xs


def _mark(axes: "Axes", xs: np.ndarray, most: int) -> None:
    """A few ticks: the powers of ten of a log scale, each point where there are few, else round numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    write = FuncFormatter(lambda value, _: bound_text(value))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(write)
    if axes.get_xscale() == "log":
        axes.xaxis.set_major_locator(LogLocator(10 if xs.max() / xs.min() >= 100 else 2, numticks=most - 2))
    elif len(xs) <= most:
        axes.set_xticks(xs)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(most // 2))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(write)
