"""Words beside lines and dots, each where it covers least of what is drawn."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from transformer_anatomy.page.plotting.layout import Page, text_width

# How far words stand from the point that they name (right, down to their baseline), in the order of preference.
SIDES = (
    (0, -10, "center"), (0, 20, "center"), (-7, -7, "right"), (7, -7, "left"), (-7, 16, "right"), (7, 16, "left"),
    (-10, 4, "right"), (10, 4, "left"),
)  # fmt: skip
SHIFT = {"left": 0.0, "center": 0.5, "right": 1.0}


class Place(NamedTuple):
    """A place for words: the pixel at the `align` end of their baseline, and what taking it costs."""

    x: float
    y: float
    align: str
    words: str
    penalty: float = 0.0


class Line(NamedTuple):
    """What is named: the pixels (x, 2) of a line, its colour, its name, and its name with its value at the end."""

    points: np.ndarray
    color: str
    name: str
    words: str
    flat: bool


class Labels:
    """Puts words on a page, clear of the pixels `ink` (k, 2), of each other and of the margins."""

    def __init__(self, page: Page, ink: np.ndarray, *, left: float = 0.0, bottom: float = float("inf")):
        self.page, self.ink, self.left, self.bottom = page, ink, left, bottom

    def put(self, places: Iterable[Place], color: str) -> None:
        """The words at the best of their places; of equal ones at the first."""
        best, least = None, float("inf")
        for place in places:
            if place.penalty < least and (cost := self._cost(place)) < least:
                best, least = place, cost
        across = np.arange(*self._sides(best), 4)
        taken = [np.column_stack([across, np.full_like(across, best.y + down)]) for down in (-11, 2)]
        self.ink = np.concatenate([self.ink, *taken])
        paper = {"facecolor": self.page.palette["paper"], "edgecolor": "none", "pad": 1}
        behind = paper if least - best.penalty >= 1 else None  # only where something would strike the words through
        self.page.text(best.x, best.y, best.words, color=color, ha=best.align, bbox=behind)

    def name(self, lines: Sequence[Line], beside_at: float | None, *, valued: bool) -> None:
        """Each line at its end, `beside_at` or among the lines; where that is shared, where it is most by itself."""
        ends = np.array([line.points[:, 1] for line in lines])
        for k in np.argsort(ends[:, -1], kind="stable"):
            line, above = lines[k], ends[k] - np.delete(ends, k, axis=0)  # by how much the others are above
            over, under = (np.where(gap >= 0, gap, 40).min(axis=0, initial=40) for gap in (above, -above))
            places, last = [], ends.shape[1] - 1
            if beside_at is not None:
                shared = not line.flat and min(over[-1], under[-1]) < 6
                places += beside(beside_at, line.points[-1, 1], line.words, 12 if shared else 0)
            for i, n in enumerate(range(last, -1, -math.ceil((last + 1) / 32))):
                words = line.words if line.flat or (valued and n == last and beside_at is None) else line.name
                for place in around(line.points[n], words):
                    there, away = (under, over) if place.y > line.points[n, 1] else (over, under)
                    places.append(place._replace(penalty=22 - there[n] / 3 - away[n] / 8 + i / 9))
            self.put(places, line.color)

    def _sides(self, place: Place) -> tuple[float, float]:
        width = text_width(place.words)
        left = place.x - width * SHIFT[place.align]
        return left, left + width

    def _cost(self, place: Place) -> float:
        (left, right), (x, y) = self._sides(place), self.ink.T
        covered = (x > left - 3) & (x < right + 3) & (y > place.y - 12) & (y < place.y + 3)
        outside = left < self.left or right > self.page.width or place.y < 12 or place.y > self.bottom
        return float(place.penalty + 2 * covered.sum() + 30 * outside)


def around(point: np.ndarray, words: str, penalty: float = 0.0, far: float = 1.0) -> Iterator[Place]:
    """The places above, below and beside a point."""
    for right, down, align in SIDES:
        yield Place(point[0] + far * right, point[1] + far * down, align, words, penalty)


def beside(x: float, y: float, words: str, penalty: float = 0.0) -> Iterator[Place]:
    """The places to the right of a line's end: level with it, then ever further up or down."""
    for i in range(16):
        yield Place(x, y + 4 + 1.5 * (i if i % 2 else -i), "left", words, penalty + i / 9)


def dense(points: np.ndarray) -> np.ndarray:
    """Pixels (k, 2) every 8 along the line through `points`."""
    counts = np.maximum(1, np.ceil(np.hypot(*np.diff(points, axis=0).T) / 8)).astype(int)
    pieces = zip(points[:-1], points[1:], counts, strict=True)
    return np.concatenate([points[-1:], *(np.linspace(a, b, n, endpoint=False) for a, b, n in pieces)])
