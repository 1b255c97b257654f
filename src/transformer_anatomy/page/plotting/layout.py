"""A matplotlib figure laid out like a page: CSS pixels, counted from the top left corner."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from transformer_anatomy.page.plotting.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 24
TITLE, HEAD = 16, 13  # px: sizes of the title and of the headings of maps and groups
DASHES = ((0, (4, 3)), (0, (1.5, 3)))  # of the first baseline and of the others


class Page:
    """`figure` given its size in pixels; axes and texts are placed from the top left."""

    def __init__(self, figure: "Figure", palette: Mapping[str, str], width: float, height: float):
        self.figure, self.palette, self.width, self.height = figure, palette, round(width), round(height)
        figure.set_size_inches(self.width / 72, self.height / 72)

    def axes(self, left: float, top: float, width: float, height: float, **options: Any) -> "Axes":
        """Axes whose frame is the given box."""
        bottom = self.height - top - height
        box = (left / self.width, bottom / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box, **options)

    def text(self, left: float, baseline: float, text: str, **style: Any) -> None:
        """A line of text on the baseline given."""
        place = (left / self.width, 1 - baseline / self.height)
        self.figure.text(*place, drawable(text), va="baseline", **style)

    def pixels(self, axes: "Axes", x: Any, y: Any) -> np.ndarray:
        """Pixels (k, 2) of points given in the units of `axes`."""
        places = axes.transData.transform(np.column_stack([x, y]))
        return np.column_stack([places[:, 0], self.height - places[:, 1]])

    def title(self, lines: Sequence[str]) -> None:
        """The finding, in the lines that `title_lines` made of it."""
        for place, line in enumerate(lines):
            self.text(0, TITLE + 22 * place, line, size=TITLE, weight="bold")

    def head(self, left: float, baseline: float, name: str) -> None:
        """The heading of a map or of a group of bars."""
        self.text(left, baseline, heading(name), size=HEAD, weight="bold")


def heading(name: str) -> str:
    """An entry's name as a heading: with a capital where it begins with a word."""
    return name[:1].upper() + name[1:] if re.match(r"[a-z]{3}", name) else name


def title_lines(title: str | None, width: float) -> tuple[list[str], float]:
    """The title broken into lines of at most `width` pixels, and the height that they take with the space below."""
    lines: list[str] = []
    for word in (title or "").split():
        if lines and text_width(f"{lines[-1]} {word}", 0.95 * TITLE) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines, 22 * len(lines) + 8 if lines else 0


def text_width(text: str, size: float = 12) -> float:
    """Pixels that `text` needs in a wide font: 0.6 em a character, 1 em for Chinese."""
    return size * sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.6 for c in text)


def widest(texts: Sequence[str], size: float = 12) -> float:
    """Width of the widest of `texts`, 0 for none."""
    return max((text_width(text, size) for text in texts), default=0.0)
