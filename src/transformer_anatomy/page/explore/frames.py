"""Frames in few bytes: numbers rounded to equal steps of a fixed range, so that a page can carry hundreds of frames."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np

from transformer_anatomy.page.explore.computing import Frame
from transformer_anatomy.page.explore.marks import Drawing

LEVELS = {"u1": 255, "u2": 65535}


@dataclass(frozen=True)
class Steps:
    """A number v is stored as round((v - lo) / step), in 8 bits ("u1") or 16 ("u2"); "f4" stores v itself, as float32.

    `error` is the most by which a number that is read back as float32 is off.
    """

    dtype: str
    lo: float = 0.0
    step: float = 1.0
    error: float = 0.0

    @classmethod
    def over(cls, dtype: str, lo: float, hi: float) -> Steps:
        """As many equal steps from `lo` to `hi` as `dtype` can count."""
        step = (hi - lo) / LEVELS[dtype]
        rounding = float(np.spacing(np.float32(max(abs(lo), abs(hi)))))
        return cls(dtype, lo, step, step / 2 + rounding)

    def store(self, values: np.ndarray) -> bytes:
        if self.dtype == "f4":
            return values.astype("<f4").tobytes()
        steps = np.round((values - self.lo) / (self.step or 1.0))
        return np.clip(steps, 0, LEVELS[self.dtype]).astype(f"<{self.dtype}").tobytes()

    def read(self, stored: bytes) -> np.ndarray:
        return self.lo + self.step * np.frombuffer(stored, f"<{self.dtype}").astype(np.float64)


class StoredFrames:
    """The frames of a figure as its page carries them: maps in 8 bits over their range, everything else in 16."""

    def __init__(self, drawing: Drawing, frames: list[Frame], map_range: tuple[float, float]):
        self._frames, self._marks = frames, drawing.marks
        self.steps = {name: self._steps(name, mark, map_range) for name, mark in drawing.marks.items()}
        self._bytes = {name: [s.store(frame.arrays[name]) for frame in frames] for name, s in self.steps.items()}

    def _steps(self, name: str, mark: str, map_range: tuple[float, float]) -> Steps:
        if mark == "point":  # two quantities of different size, and only eight bytes
            return Steps("f4")
        if mark in ("map", "maps"):
            return Steps.over("u1", *map_range)
        values = [frame.arrays[name] for frame in self._frames]
        return Steps.over("u2", min(float(v.min()) for v in values), max(float(v.max()) for v in values))

    def read(self, index: int) -> dict[str, np.ndarray]:
        """Frame `index` as a page shows it."""
        shapes = {name: array.shape for name, array in self._frames[index].arrays.items()}
        return {name: steps.read(self._bytes[name][index]).reshape(shapes[name]) for name, steps in self.steps.items()}

    def to_json(self) -> dict[str, Any]:
        """Entries in order with their numbers in base64, labels and readouts."""
        entries = [
            {"name": name, "dtype": steps.dtype, "lo": steps.lo, "step": steps.step, **self._columns(name)}
            | {"data": distinct([base64.b64encode(stored).decode("ascii") for stored in self._bytes[name]])}
            for name, steps in self.steps.items()
        ]
        axes = self._frames[0].labels
        return {
            "entries": entries,
            "labels": {axis: distinct([_short(frame.labels[axis]) for frame in self._frames]) for axis in axes},
            "readouts": distinct([frame.readout for frame in self._frames]),
        }

    def _columns(self, name: str) -> dict[str, Any]:
        """The heads of an entry's columns in the data table; a map has its own columns' labels, after a prefix."""
        if self._marks[name] == "map":
            return {"prefix": f"{name}: " if list(self._marks.values()).count("map") > 1 else ""}
        heads = {"band": ["lower", name, "upper"], "level": [], "point": [], "maps": [], "spread": [], "likeness": []}
        return {"heads": heads.get(self._marks[name], [name or "value"])}


def distinct(items: list) -> dict[str, list]:
    """A list with equal items written once, as most labels and many readouts are: item i is items[places[i]]."""
    unique = list(dict.fromkeys(items))
    place = {item: index for index, item in enumerate(unique)}
    return {"items": unique, "places": [place[item] for item in items]} if len(unique) > 1 else {"items": unique}


def _short(labels: tuple) -> tuple:
    """Words, or places on the x axis to four digits, which is finer than a pixel."""
    return tuple(float(f"{label:.4g}") if isinstance(label, float) else label for label in labels)
