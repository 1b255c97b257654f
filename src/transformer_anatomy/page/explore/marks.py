"""What a figure draws: which entry of a function's result becomes which mark, and with which labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_anatomy.page.explore.layers import as_chosen
from transformer_anatomy.page.plotting.arrays import as_array, as_limits, as_names

OPTIONS = {
    "heatmap": {"rows", "columns", "row_label", "column_label", "range", "colors"},
    "lines": {"x", "x_label", "y_label", "x_scale", "range", "baselines", "points"},
    "bars": {"columns", "y_label", "range", "baselines"},
    "layers": {"rows", "notes", "note_label", "chosen"},
}
ACCEPTED = {
    "heatmap": "2-D maps of one shape, at most one 1-D strip as long as their rows, and with it one 0-D baseline",
    "lines": "curves (x,) or in a band (3, x), 0-D or (x,) entries named in baselines, (2,) entries named in points",
    "bars": "1-D bars of one length, and 0-D entries named in baselines",
    "layers": "(layer, head, row, row), and at most one (layer, head, row), (layer + 1, row, row) and 0-D baseline",
}
MAIN = {"heatmap": ("map",), "lines": ("curve", "band"), "bars": ("bars",), "layers": ("maps",)}
AXES = {"heatmap": ("rows", "columns"), "lines": ("x",), "bars": ("columns",), "layers": ("rows", "notes")}
CHOICES = {"colors": ("weights", "signed"), "x_scale": ("linear", "log")}


@dataclass(frozen=True)
class Drawing:
    """A kind of figure, its options, and the mark that each entry is drawn as.

    Marks: "map", "strip" and "level" (the strip's baseline) in a heat map; "curve", "band", "baseline" and "point"
    among lines; "bars" and "baseline" among bars; through layers "maps", "spread" (a number for each row of each map),
    "likeness" (of any two rows, before the first layer and after each) and "level" (the baseline of the spread).
    """

    kind: str
    options: dict[str, Any]
    marks: dict[str, str]

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray], kind: str | None, options: Mapping[str, Any]) -> Drawing:
        """`kind` or, by default: layers for 4-D, heatmap for anything 2-D, bars for a lone 1-D, lines for a dict."""
        if kind is None:
            axes = {array.ndim for array in arrays.values()}
            kind = "layers" if 4 in axes else "heatmap" if 2 in axes else "bars" if list(arrays) == [""] else "lines"
        if not isinstance(kind, str) or kind not in OPTIONS:
            raise ValueError(f"kind={kind!r} is none of {sorted(OPTIONS)}")
        given = {name: value for name, value in options.items() if value is not None}
        for name, value in given.items():
            if name not in OPTIONS[kind]:
                raise TypeError(f"{name} is no option of a figure of kind {kind!r}, which has {sorted(OPTIONS[kind])}")
            if name in CHOICES and value not in CHOICES[name]:
                raise ValueError(f"{name}={value!r} is none of {list(CHOICES[name])}")
            if name in ("baselines", "points"):
                given[name] = as_names(name, value)
            if name.endswith("_label") and not isinstance(value, str):
                raise TypeError(f"{name} must be text, got {value!r}")
        if kind == "layers" and (maps := [array.shape for array in arrays.values() if array.ndim == 4]):
            given["chosen"] = as_chosen(given.get("chosen", {}), maps[0])
        if "range" in given:
            given["range"] = lo, hi = as_limits("range", given["range"])
            if given.get("colors") == "signed" and lo != -hi:
                raise ValueError(f"range=({lo:g}, {hi:g}): colors='signed' is centred at 0, give (-{hi:g}, {hi:g})")
        named = (*given.get("baselines", ()), *given.get("points", ()))
        if missing := [name for name in named if name not in arrays]:
            raise ValueError(f"baselines and points name {missing}, but the entries are {list(arrays)}")
        drawing = cls(kind, given, {})
        drawing.marks.update({name: drawing._mark(name, array) for name, array in arrays.items()})
        drawing.check(arrays)
        return drawing

    def _mark(self, name: str, array: np.ndarray) -> str:
        """The mark that the entry's name and number of axes ask for; "" for none."""
        if self.kind == "heatmap":
            return {0: "level", 1: "strip", 2: "map"}.get(array.ndim, "")
        if self.kind == "layers":
            as_many = "chosen" in self.options and len(array) == self.options["chosen"]["size"][0] if array.ndim else 0
            return {0: "level", 3: "spread" if as_many else "likeness", 4: "maps"}.get(array.ndim, "")
        if name in self.options.get("points", ()):
            return "point"
        if name in self.options.get("baselines", ()):
            return "baseline"
        names = {1: "bars"} if self.kind == "bars" else {1: "curve", 2: "band"}
        return names.get(array.ndim, "")

    def named(self, *marks: str) -> list[str]:
        """The entries that are drawn as one of `marks`."""
        return [name for name, mark in self.marks.items() if mark in marks]

    def check(self, arrays: dict[str, np.ndarray]) -> None:
        """Raises ValueError when a later result has other entries, or shapes that do not go together."""
        if list(arrays) != list(self.marks):
            raise ValueError(f"the entries are {list(arrays)}, at the start they were {list(self.marks)}")
        shapes = {name: array.shape for name, array in arrays.items()}
        if not self._fits(shapes):
            raise ValueError(f"a figure of kind {self.kind!r} draws {ACCEPTED[self.kind]}; the shapes are {shapes}")

    def _fits(self, shapes: dict[str, tuple[int, ...]]) -> bool:
        of = {mark: [shapes[name] for name in self.marks if self.marks[name] == mark] for mark in self.marks.values()}
        main = [shape for mark in MAIN[self.kind] for shape in of.get(mark, ())]
        size = main[0] if self.kind == "heatmap" and main else main[0][-1:] if main else None
        allowed = {
            "map": lambda shape: shape == size,
            "strip": lambda shape: shape == size[:1] and len(of["strip"]) == 1,
            "level": lambda shape: shape == () and len(of["level"]) == 1 and "strip" in of,
            "curve": lambda shape: shape == size,
            "band": lambda shape: shape == (3, *size),
            "point": lambda shape: shape == (2,),
            "baseline": lambda shape: shape == () or (shape == size and self.kind == "lines"),
            "bars": lambda shape: shape == size,
        }
        if self.kind == "layers" and main:
            allowed = self._fit_layers(main[0], of)
        return bool(main) and all(mark and all(map(allowed[mark], of[mark])) for mark in of)

    def _fit_layers(self, maps: tuple[int, ...], of: dict[str, list]) -> dict[str, Callable]:
        n_layers, n_heads, n, _ = maps
        wanted = {"maps": (n_layers, n_heads, n, n), "spread": (n_layers, n_heads, n), "likeness": (n_layers + 1, n, n)}
        wanted["level"] = ()
        same = (n_layers, n_heads) == self.options["chosen"]["size"] and (not of.get("level") or "spread" in of)
        return {mark: lambda shape, mark=mark: same and shape == wanted[mark] and len(of[mark]) == 1 for mark in wanted}

    def labels(self, arrays: dict[str, np.ndarray], settings: Mapping[str, Any]) -> dict[str, tuple]:
        """Rows and columns of a heat map, columns of bars, x of lines: given, a function's result, or 1, 2, 3...

        Through layers: rows, and a note to each row before the first layer and after each, in that order.
        """
        main = next(arrays[name] for name, mark in self.marks.items() if mark in MAIN[self.kind])
        axes = AXES[self.kind]
        sizes = main.shape[-len(axes) :]
        if self.kind == "layers":
            sizes = main.shape[-1], (main.shape[0] + 1) * main.shape[-1]
        return {axis: self._axis(axis, n, settings) for axis, n in zip(axes, sizes, strict=True)}

    def _axis(self, axis: str, length: int, settings: Mapping[str, Any]) -> tuple:
        option = self.options.get(axis, [""] * length if axis == "notes" else range(1, length + 1))
        given = option(**settings) if isinstance(option, Callable) else option
        if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
            raise TypeError(f"{axis}={given!r}: give a list, or a function of the settings that returns one")
        values = tuple(value.item() if hasattr(value, "item") else value for value in given)
        if len(values) != length:
            hint = "; where the size changes, give a function of the settings" if given is option else ""
            raise ValueError(f"{axis} has {len(values)} labels for {length} places{hint}")
        if axis != "x" or any(isinstance(value, str) for value in values):
            return tuple(str(value) for value in values)
        if as_array(axis, values).min() <= 0 and self.options.get("x_scale") == "log":
            raise ValueError(f"x={list(values)}: give numbers above 0, as x_scale is 'log'")
        return values
