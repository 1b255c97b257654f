"""The settings that the controls of a figure offer: grids of numbers for sliders, choices for menus."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Grid:
    """Values in order, the index of the one a control starts at, and how a slider spaces them.

    `scale` is "log", "linear" or "menu". `free_text` lets a reader with a kernel type what is not listed.
    """

    values: tuple
    start: int
    scale: str
    free_text: bool = False

    @property
    def integer(self) -> bool:
        return self.scale != "menu" and isinstance(self.values[0], int)

    def to_json(self) -> dict[str, Any]:
        """What the script needs to know of it."""
        return {
            "values": self.values,
            "start": self.start,
            "menu": self.scale == "menu",
            "log": self.scale == "log",
            "integer": self.integer,
            "free_text": self.free_text,
        }

    def accept(self, name: str, value: Any) -> Any:
        """The value as the function gets it. Off-grid numbers are fine; what the grid cannot mean is a ValueError."""
        if self.scale == "menu":
            if value in self.values:
                return self.values[self.values.index(value)]
            if self.free_text and isinstance(value, str):
                return value
            raise ValueError(f"{name}={value!r} is none of {list(self.values)}")
        if not _is_number(value) or not _is_finite(value):
            raise ValueError(f"{name}={value!r} is not a finite number")
        if not self.values[0] <= value <= self.values[-1]:
            raise ValueError(f"{name}={value!r} is outside {self.values[0]!r} to {self.values[-1]!r}")
        return round(value) if self.integer else float(value)


def logspace(lo: float, hi: float, n: int, start: float | None = None) -> Grid:
    """A slider of `n` numbers from `lo` to `hi` at equal ratios, rounded to four digits; starts in the middle."""
    lo, hi = _plain(lo), _plain(hi)
    if _is_number(lo) and not lo > 0:
        raise ValueError(f"logspace needs lo > 0, got lo={lo!r}; linspace can start at 0 or below")
    return _spaced("log", lo, hi, n, start)


def linspace(lo: float, hi: float, n: int, start: float | None = None) -> Grid:
    """A slider of `n` numbers from `lo` to `hi` at equal distances, rounded to four digits; starts in the middle."""
    return _spaced("linear", _plain(lo), _plain(hi), n, start)


def choices(values: Iterable, start: Any = None, free_text: bool = False) -> Grid:
    """Increasing numbers for a slider (starts in the middle), or strings or booleans for a menu (starts at the first).

    With `free_text` a menu of strings becomes a text field where a kernel is there to compute what the reader types.
    """
    return _listed("choices", values, start, free_text)


def as_grid(name: str, given: Any) -> Grid:
    """What the keyword `name` of `explore` means as a grid. Raises TypeError or ValueError that names the control."""
    if isinstance(given, Grid):
        return given
    if isinstance(given, str | dict) or not isinstance(given, Iterable):
        raise TypeError(
            f"control {name}={given!r}: give logspace(...), linspace(...), choices(...) or a list of values"
        )
    return _listed(f"control {name}", given, None, False)


def _spaced(scale: str, lo: float, hi: float, n: int, start: float | None) -> Grid:
    name = f"{'logspace' if scale == 'log' else 'linspace'}({lo!r}, {hi!r}, {n!r})"
    if not (_is_number(lo) and _is_number(hi)):
        raise TypeError(f"{name} needs numbers as its ends")
    if not (_is_finite(lo) and _is_finite(hi) and lo < hi):
        raise ValueError(f"{name} needs finite ends with lo < hi")
    if not isinstance(n, int) or isinstance(n, bool) or n < 2:
        raise ValueError(f"{name} needs at least two values, got n={n!r}")
    spaced = np.geomspace(lo, hi, n) if scale == "log" else np.linspace(lo, hi, n)
    inner = [float(f"{value:.4g}") for value in spaced[1:-1]]
    values = (float(lo), *inner, float(hi))
    _check_increasing(name, values)
    return Grid(values, _index(name, values, start, n // 2), scale)


def _listed(name: str, given: Iterable, start: Any, free_text: bool) -> Grid:
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{name} needs a list of values, got {given!r}")
    if getattr(given, "ndim", 1) != 1:
        raise ValueError(f"{name} needs a list of values, got a tensor of shape {tuple(given.shape)}")
    values = tuple(map(_plain, given))
    if len(values) < 2:
        raise ValueError(f"{name} needs at least two values, got {list(values)}")
    if all(isinstance(value, str) for value in values) or all(isinstance(value, bool) for value in values):
        if len(set(values)) < len(values):
            raise ValueError(f"{name} lists a value twice: {list(values)}")
        if free_text and isinstance(values[0], bool):
            raise ValueError(f"{name}: free_text=True needs strings, got {list(values)}")
        return Grid(values, _index(name, values, start, 0), "menu", free_text)
    if not all(map(_is_number, values)):
        raise TypeError(f"{name} needs all numbers, all strings or all booleans, got {list(values)}")
    if free_text:
        raise ValueError(f"{name}: free_text=True needs strings, got {list(values)}")
    _check_increasing(name, values)
    if not all(isinstance(value, int) for value in values):
        values = tuple(float(value) for value in values)
    return Grid(values, _index(name, values, start, len(values) // 2), "linear")


def _check_increasing(name: str, values: tuple) -> None:
    if not all(map(_is_finite, values)):
        raise ValueError(f"{name} needs finite numbers, got {list(values)}")
    if any(a >= b for a, b in itertools.pairwise(values)):
        raise ValueError(f"{name} needs increasing values, got {list(values)}")


def _plain(value: Any) -> Any:
    """A number of a tensor or an array as a number of Python."""
    return value.item() if hasattr(value, "item") else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: float) -> bool:
    """Also for integers beyond any float, which a slider cannot hold."""
    return abs(value) < 1e300


def _index(name: str, values: tuple, start: Any, default: int) -> int:
    if start is None:
        return default
    if isinstance(values[0], str | bool):
        if start in values:
            return values.index(start)
        raise ValueError(f"{name}: start={start!r} is none of {list(values)}")
    if not _is_number(start):
        raise TypeError(f"{name}: start={start!r} is not a number")
    near = sorted(range(len(values)), key=lambda index: abs(values[index] - start))
    if not math.isclose(values[near[0]], start, rel_tol=1e-3):
        raise ValueError(f"{name}: start={start!r} is not on the grid; near it are {[values[i] for i in near[:2]]}")
    return near[0]
