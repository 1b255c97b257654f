"""A matplotlib figure laid out like a page: CSS pixels, counted from the top left corner."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from transformer_anatomy.page.plotting.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GAP = 24
TITLE = 26  # px that a title takes


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

    def title(self, text: str | None, left: float = 0, baseline: float = 14) -> None:
        """The finding, in bold; nothing when there is none."""
        if text:
            self.text(left, baseline, text, size=13, weight="bold")


def text_width(text: str, size: float = 12) -> float:
    """Pixels that `text` needs in a wide font: 0.6 em a character, 1 em for Chinese."""
    return size * sum(1.0 if unicodedata.east_asian_width(c) in "WF" else 0.6 for c in text)


def widest(texts: Sequence[str], size: float = 12) -> float:
    """Width of the widest of `texts`, 0 for none."""
    return max((text_width(text, size) for text in texts), default=0.0)


def name_ends(axes: "Axes", ends: Sequence[tuple[float, str, str]], *, beside: bool = True) -> None:
    """Names lines at their right ends, (height, text, colour) each, pushed apart where the names would touch.

    The names stand `beside` the axes, or inside above the ends of the lines where there is no room.
    """
    low, high = axes.get_ylim()
    line = 15 * (high - low) / (axes.get_position().height * axes.figure.get_figheight() * 72)
    ordered = sorted(ends)
    places = apart([height for height, _, _ in ordered], line, low, high)
    style = {"xytext": (12, 0), "va": "center"} if beside else {"xytext": (0, 5), "va": "bottom", "ha": "right"}
    for place, (_, text, colour) in zip(places, ordered, strict=True):
        at = (1, place)
        style |= {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "annotation_clip": False}
        axes.annotate(drawable(text), at, color=colour, **style)


def apart(heights: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Places at least `step` apart for sorted `heights`: those that would touch form a pile centred on its members."""

    def lowest(pile: list[float]) -> float:
        centred = sum(pile) / len(pile) - step * (len(pile) - 1) / 2
        return max(low, min(centred, high - step * (len(pile) - 1)))

    piles: list[list[float]] = []
    for height in heights:
        piles.append([height])
        while len(piles) > 1 and lowest(piles[-1]) < lowest(piles[-2]) + step * len(piles[-2]):
            piles[-2:] = [piles[-2] + piles[-1]]
    return [lowest(pile) + step * place for pile in piles for place in range(len(pile))]
