"""The figure that `explore` returns: its stored frames, its HTML, and the widget that computes where a kernel is."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import torch

from transformer_anatomy.page import plotting
from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.explore.computing import Computation, Frame
from transformer_anatomy.page.explore.frames import StoredFrames
from transformer_anatomy.page.explore.marks import Drawing
from transformer_anatomy.page.explore.markup import ID, colour_scale, control, figure
from transformer_anatomy.page.explore.scales import layout, value_range

MOST_BYTES = 300_000
_count = itertools.count()


class Explorer:
    """The figure that `explore` returns; a notebook shows it as the last value of a cell.

    `settings` are the controls' values of each stored frame, `start` those that the figure opens with.
    """

    def __init__(
        self,
        computation: Computation,
        kind: str | None,
        options: Mapping[str, Any],
        texts: dict[str, str],
        labels: dict[str, str],
    ):
        self.computation, self.controls, self.texts = computation, computation.controls, texts
        combinations = itertools.product(*(grid.values for grid in self.controls.values()))
        self.settings = [dict(zip(self.controls, values, strict=True)) for values in combinations]
        self.start = {name: grid.values[grid.start] for name, grid in self.controls.items()}
        drawing = computation.drawing = Drawing.of(computation.call(self.start)[1], kind, options)
        frames = self._compute(drawing)
        self._stored = StoredFrames(drawing, frames, value_range(drawing, frames))
        self._html = self._render(drawing, frames, labels)
        self._check_size(len(self._html.encode()))

    @property
    def scripts(self) -> tuple[str, ...]:
        """The scripts that a page with this figure needs, in order; "layers.js" is for the kind of its name only."""
        return ("layers.js", "explore.js") if self.computation.drawing.kind == "layers" else ("explore.js",)

    @property
    def quantisation(self) -> dict[str, float]:
        """By how much at most a stored number of each entry is off."""
        return {name: steps.error for name, steps in self._stored.steps.items()}

    def frame(self, **controls: Any) -> torch.Tensor | dict[str, torch.Tensor]:
        """The stored frame at these settings (the others at their start) as float32, in the form that came back."""
        settings = self.start | controls
        if settings not in self.settings:
            stored = {name: list(grid.values) for name, grid in self.controls.items()}
            raise ValueError(f"there is no frame at {settings}; stored are {stored}")
        read = self._stored.read(self.settings.index(settings))
        tensors = {name: torch.from_numpy(array).float() for name, array in read.items()}
        return tensors[""] if list(tensors) == [""] else tensors

    def _compute(self, drawing: Drawing) -> list[Frame]:
        frames, size, widths = [], 0, {"map": 1, "maps": 1, "point": 4}
        for settings in self.settings:
            frames.append(self.computation.frame(settings))
            size += sum(array.size * widths.get(drawing.marks[name], 2) for name, array in frames[-1].arrays.items())
            if size > MOST_BYTES:  # more of them would only take time
                self._check_size(size * len(self.settings) // len(frames))
        return frames

    def _check_size(self, size: int) -> None:
        if size > MOST_BYTES:
            name, grid = max(self.controls.items(), key=lambda item: len(item[1].values))
            raise ValueError(
                f"{self.texts['title']!r} takes {size // 1000} KB in {len(self.settings)} frames, at most "
                f"{MOST_BYTES // 1000} KB are accepted: coarsen the grid of {name}, which has {len(grid.values)} values"
            )

    def _render(self, drawing: Drawing, frames: list[Frame], labels: dict[str, str]) -> str:
        first, scale = frames[self.settings.index(self.start)], ""
        spec = layout(drawing, frames, first)
        if drawing.kind in ("heatmap", "layers"):
            scale = colour_scale(spec["scale_name"], drawing.options.get("colors", "weights"), *spec["range"])
        state = f"{len(frames)} frames computed when {'the book was built' if building_book() else 'this cell ran'}"
        if coarse := [steps.error for steps in self._stored.steps.values() if steps.dtype == "u1"]:
            state += f", stored to ±{float(f'{coarse[0]:.1g}'):g}"
        spec |= {"kind": drawing.kind, "alt": self.texts["alt"], "state": state} | self._stored.to_json()
        spec["controls"] = [grid.to_json() | {"name": name} for name, grid in self.controls.items()]
        controls = "".join(control(labels[name], grid) for name, grid in self.controls.items())
        return figure(self.texts, controls, self._picture(drawing, first, spec["range"]), scale, first.readout, spec)

    def _picture(self, drawing: Drawing, first: Frame, found: tuple[float, float]) -> str:
        """The start frame as a picture, which stands where no script runs."""
        options = drawing.options | first.labels | {"range": found}
        values = {name: torch.from_numpy(array) for name, array in first.arrays.items()}
        plot = getattr(plotting, f"plot_{drawing.kind}")
        return plot(values, alt=self.texts["alt"], **options)._repr_html_()

    def figure(self) -> str:
        """The figure as HTML for a page that has tokens.css, explore.css and explore.js; every call with its own id."""
        digest = hashlib.sha256(self._html.encode()).hexdigest()[:6]
        return self._html.replace(ID, f"explore-{digest}-{next(_count)}")

    def _repr_html_(self) -> str:
        """The figure, and outside the book the style and the script with it."""
        if building_book():
            return self.figure()
        style, script = asset("tokens.css", "explore.css"), asset(*self.scripts)
        return f"<style>{style}</style>{self.figure()}<script>{script}</script>"

    @cached_property
    def widget(self) -> Any:
        """The same figure with a kernel behind it, a `LiveFigure`."""
        from transformer_anatomy.page.explore.live import LiveFigure

        return LiveFigure(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not building_book():
            shown = self.widget._repr_mimebundle_()
            bundle |= shown[0] if isinstance(shown, tuple) else shown
            bundle |= {"text/plain": repr(self)}
        return bundle

    def __repr__(self) -> str:
        return f"<Explorer: {self.texts['title']}, {len(self.settings)} frames of {', '.join(self.controls)}>"
