"""Scales that never change with a control: ranges, ticks and decimals, from all frames of a figure at once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from transformer_anatomy.page.explore.computing import Frame
from transformer_anatomy.page.explore.layers import layers_layout
from transformer_anatomy.page.explore.marks import Drawing
from transformer_anatomy.page.numerals import bound_text
from transformer_anatomy.page.plotting.heatmap import SCALES
from transformer_anatomy.page.plotting.layout import heading
from transformer_anatomy.page.plotting.themes import curve_tokens
from transformer_anatomy.page.plotting.ticks import own_steps, round_steps, step_between


def value_range(drawing: Drawing, frames: list[Frame]) -> tuple[float, float]:
    """The colours' or heights' range: the one asked for, else 0 to 1 for weights, else round ends that fit every frame.

    Raises ValueError where a map leaves the range of its colours.
    """
    given = drawing.options.get("range")
    if drawing.kind in ("lines", "bars"):
        heights = _values(drawing, frames, "curve", "band", "baseline", "bars") + [
            point[1:] for point in _values(drawing, frames, "point")
        ]
        return given or _round_range(*_extent(heights), from_zero=drawing.kind == "bars")
    lo, hi = _extent(_values(drawing, frames, "map", "maps"))
    top = _ceiling(max(-lo, hi) or 1.0)
    found = given or ((-top, top) if drawing.options.get("colors") == "signed" else (0.0, 1.0))
    slack = 1e-5 * (found[1] - found[0])
    if lo < found[0] - slack or hi > found[1] + slack:
        raise ValueError(
            f"values from {lo:.4g} to {hi:.4g} leave the range ({found[0]:g}, {found[1]:g}) of the colours: "
            "give range=(lo, hi), or colors='signed' for a scale centred at 0"
        )
    return found


def _ceiling(value: float) -> float:
    """The next number above with two digits, which is short to print at the end of a scale."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def layout(drawing: Drawing, frames: list[Frame], first: Frame) -> dict[str, Any]:
    """What the script needs besides the frames: range, decimals, ticks, names, the cell that is chosen at first."""
    found = value_range(drawing, frames)
    kinds = {"heatmap": _map_layout, "lines": _lines_layout, "bars": _bars_layout}
    if drawing.kind == "layers":
        own = layers_layout(drawing.marks, drawing.options, _values(drawing, frames, "spread", "level"))
        return {"range": found, "places": decimals(*found), "tokens": SCALES["weights"]} | own
    return {"range": found, "places": decimals(*found)} | kinds[drawing.kind](drawing, frames, first)


def _map_layout(drawing: Drawing, frames: list[Frame], first: Frame) -> dict[str, Any]:
    options, maps = drawing.options, drawing.named("map")
    down, across = options.get("row_label", "queries"), options.get("column_label", "keys")
    colors, unit = options.get("colors", "weights"), "range" not in options
    found = {
        "maps": maps,
        "headings": [heading(name) for name in maps],
        "strip": next(iter(drawing.named("strip")), None),
        "level": next(iter(drawing.named("level")), None),
        "heads": (f"{across} →", f"{down} ↓"),
        "hint": f"{down} down, {across} across: arrow keys choose a cell",
        "row_class": "q" if down == "queries" else "quiet",
        "column_class": "k" if across == "keys" else "quiet",
        "row_noun": _singular(down),
        "column_noun": _singular(across),
        "tokens": SCALES[colors],
        "gives": (down, across, colors) == ("queries", "keys", "weights"),
        "scale_name": maps[0] if len(maps) == 1 and maps[0] else "weight" if colors == "weights" and unit else "value",
        "row": _first_row([first.arrays[name] for name in maps]),
    }
    strip = _values(drawing, frames, "strip")
    if strip:
        lo, hi = _extent(strip + _values(drawing, frames, "level"))
        if lo < 0:
            raise ValueError(f"the strip beside the rows starts at 0, but its values go down to {lo:.4g}")
        found |= {"strip_top": hi or 1.0, "strip_places": decimals(0, hi or 1.0)}
    return found


def _first_row(maps: list[np.ndarray]) -> int:
    """The row chosen at first: the second, as the first token often is a special one, or the next that is not empty."""
    strongest = np.max([array.max(axis=1) for array in maps], axis=0)
    visible = [row for row in (*range(1, len(strongest)), 0) if abs(strongest[row]) >= 0.005]
    return visible[0] if visible else 0


def _lines_layout(drawing: Drawing, frames: list[Frame], first: Frame) -> dict[str, Any]:
    options, log = drawing.options, drawing.options.get("x_scale") == "log"
    places = [frame.labels["x"] for frame in frames]
    places = [range(len(x)) if isinstance(x[0], str) else x for x in places]
    lo, hi = _extent([np.array(x, float) for x in places] + [p[:1] for p in _values(drawing, frames, "point")])
    if log and lo <= 0:
        raise ValueError(f"x_scale='log' needs x above 0, also of points, got {lo:.4g}")
    curves = drawing.named("curve", "band")
    own = own_steps(places[0]) if all(list(other) == list(places[0]) for other in places) else []
    return {
        "lines": _baselines(drawing)
        + [
            {"name": name, "cls": "curve", "style": f"--color:var(--{token});--words:var(--{token}-text,var(--ink))"}
            for name, token in curve_tokens(curves).items()
        ],
        "single": len(curves) == 1,
        "points": drawing.named("point"),
        "x_label": options.get("x_label", ""),
        "y_label": options.get("y_label", ""),
        "log": log,
        "domain": (lo, hi),
        "x_ticks": _ticks(own or round_steps(lo, hi, log)),
        "y_ticks": _ticks(round_steps(*value_range(drawing, frames))),
    }


def _bars_layout(drawing: Drawing, frames: list[Frame], first: Frame) -> dict[str, Any]:
    groups, (lo, hi) = drawing.named("bars"), value_range(drawing, frames)
    return {
        "groups": groups,
        "headings": [heading(name) for name in groups],
        "lines": _baselines(drawing),
        "y_label": drawing.options.get("y_label", ""),
        "y_ticks": _ticks(sorted({lo, hi, min(max(0.0, lo), hi)})),
    }


def _baselines(drawing: Drawing) -> list[dict[str, str]]:
    """Dashed lines; all but the first have dashes of another length."""
    names = drawing.options.get("baselines", ())
    return [{"name": name, "cls": "baseline other" if place else "baseline"} for place, name in enumerate(names)]


def _ticks(steps: Iterable[float]) -> list[tuple[float, str]]:
    return [(step, bound_text(step)) for step in steps]


def decimals(lo: float, hi: float) -> int:
    """Two, fewer on a scale of hundreds, more on one below a half."""
    span = hi - lo
    return 0 if span >= 1000 else 1 if span >= 100 else 2 if span >= 0.5 else 2 + math.ceil(-math.log10(2 * span))


def _round_range(lo: float, hi: float, from_zero: bool) -> tuple[float, float]:
    """Round ends around lo to hi; from 0 for bars, and for lines where that leaves them half of the picture."""
    if from_zero or 0 <= lo <= hi / 2:
        lo, hi = min(lo, 0.0), max(hi, 0.0)
    if lo == hi:
        lo, hi = lo - 0.5, hi + 0.5
    step, digits = step_between(lo, hi)
    return round(math.floor(lo / step + 1e-6) * step, digits), round(math.ceil(hi / step - 1e-6) * step, digits)


def _values(drawing: Drawing, frames: list[Frame], *marks: str) -> list[np.ndarray]:
    return [frame.arrays[name] for frame in frames for name in drawing.named(*marks)]


def _extent(arrays: Iterable[np.ndarray]) -> tuple[float, float]:
    arrays = list(arrays)
    return min(float(array.min()) for array in arrays), max(float(array.max()) for array in arrays)


def _singular(name: str) -> str:
    return name.removesuffix("ies") + "y" if name.endswith("ies") else name.removesuffix("s")
