"""Where the maps of a figure go, in pixels."""

import math
from dataclasses import dataclass

from transformer_anatomy.page.plotting.layout import GAP, widest

LARGEST, SMALLEST = 46, 13  # side of a cell; rather than draw smaller ones, maps go into further rows
CORNER = 36  # the names of both axes, one over the other in the corner


@dataclass(frozen=True)
class MapGrid:
    """`count` maps of `shape`, `across` in a row, each with `head` pixels for names and upright labels above it."""

    count: int
    shape: tuple[int, int]
    left: float
    across: int
    cell: float
    upright: bool
    head: float

    @classmethod
    def fit(
        cls, count: int, shape: tuple[int, int], *, left: float, room: float, columns: list[str], named: bool
    ) -> "MapGrid":
        """The largest cells that fit into `room` pixels beside `left` pixels of row labels."""
        for across in range(count, 0, -1):
            cell = min(LARGEST, (room - GAP * (across - 1)) / (across * shape[1]))
            if cell >= SMALLEST:
                break
        across = math.ceil(count / math.ceil(count / across))  # full rows rather than one map alone in the last
        cell = min(LARGEST, (room - GAP * (across - 1)) / (across * shape[1]))
        upright = widest(columns) > cell - 2
        head = max(CORNER, widest(columns) + 10 if upright else 0) + (22 if named else 0)
        return cls(count, shape, left, across, cell, upright, head)

    @property
    def box(self) -> tuple[float, float]:
        """Width and height of one map."""
        return self.cell * self.shape[1], self.cell * self.shape[0]

    @property
    def size(self) -> tuple[float, float]:
        """Right and lower end of the whole grid."""
        rows = math.ceil(self.count / self.across)
        return self.left + self.across * (self.box[0] + GAP) - GAP, rows * (self.head + self.box[1] + GAP) - GAP

    def corner(self, place: int) -> tuple[float, float]:
        """Left and top of a map."""
        row, column = divmod(place, self.across)
        return self.left + column * (self.box[0] + GAP), self.head + row * (self.head + self.box[1] + GAP)
