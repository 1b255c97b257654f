"""Where the texts of a strip stand: values over their dots, the document's words under their band, none on another."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from transformer_anatomy.page.typography import marked_svg

NOMINAL = 200  # px: texts are kept apart at this width, the strip itself takes any
GAP = 10  # px between two texts
PUSH = 16  # px that a value may stand beside its dot; beyond, the texts stand below each other
LINE = 14
FIRST = 11  # px, the baseline of the highest line
NARROW, WIDE = 3.7, 6.9  # px, of the letters below and of all others, with room for a wide fallback font


@dataclass(frozen=True)
class Label:
    """A text that belongs to a mark at `share` of the strip's width."""

    share: float
    text: str

    @property
    def width(self) -> float:
        """Pixels that the text takes, about."""
        return sum(NARROW if letter in " .,:;·'’()[]|fijlrt" else WIDE for letter in self.text)

    @property
    def start(self) -> float:
        """Pixels to its left end where it is centred over its mark, as far as the ends of the strip allow."""
        return min(max(self.share * NOMINAL - self.width / 2, 0.0), NOMINAL - self.width)


def over(value: Label, aside: Label | None = None) -> tuple[str, int]:
    """The measured value above the axis with a second text `aside`: SVG, and how many lines it takes.

    Where the two would touch, `aside` gives way as far as the strip allows, then the value; where that is not enough,
    `aside` stands above.
    """
    if aside is None:
        return _text(value, value.start, FIRST), 1
    if aside.share < value.share:
        aside_start = max(0.0, min(aside.start, value.start - GAP - aside.width))
        start = max(value.start, aside_start + aside.width + GAP)
    else:
        aside_start = min(NOMINAL - aside.width, max(aside.start, value.start + value.width + GAP))
        start = min(value.start, aside_start - GAP - value.width)
    if abs(start - value.start) <= PUSH and 0 <= start <= NOMINAL - value.width:
        return _text(value, start, FIRST) + _text(aside, aside_start, FIRST), 1
    above = _lines(aside.text)
    return _column(aside.share, above, FIRST) + _text(value, value.start, FIRST + LINE * len(above)), len(above) + 1


def under(label: Label, top: float) -> tuple[str, int]:
    """A text below the axis, its first baseline at `top` px: SVG, and how many lines it takes."""
    lines = _lines(label.text)
    return _column(label.share, lines, top, ' class="quiet"'), len(lines)


def _lines(text: str) -> list[str]:
    """`text` in as few lines as it takes, all about as long as each other."""
    letters = int(NOMINAL / max(1.0, Label(0, text).width) * len(text))
    lines = textwrap.wrap(text, letters)
    for shorter in range(letters, 0, -1):
        narrower = textwrap.wrap(text, shorter)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def _column(share: float, lines: Sequence[str], top: float, kind: str = "") -> str:
    """Lines below each other, all aligned as the longest of them asks for."""
    longest = max((Label(share, line) for line in lines), key=lambda label: label.width)
    at, anchor = _anchor(longest, longest.start)
    return "".join(_line(line, at, anchor, top + LINE * place, kind) for place, line in enumerate(lines))


def _text(label: Label, start: float, y: float) -> str:
    return _line(label.text, *_anchor(label, start), y)


def _anchor(label: Label, start: float) -> tuple[float, str]:
    """A share of any strip's width, and which end of the text belongs there: the one on the side of its mark."""
    if start > label.start or start <= 0:
        return start / NOMINAL, "start"
    if start < label.start or start >= NOMINAL - label.width:
        return (start + label.width) / NOMINAL, "end"
    return label.share, "middle"


def _line(text: str, share: float, anchor: str, y: float, kind: str = "") -> str:
    return f'<text{kind} x="{percent(share)}" y="{y:g}" text-anchor="{anchor}">{marked_svg(text)}</text>'


def percent(share: float) -> str:
    """A share of the strip's width, as SVG takes it."""
    return f"{100 * share:.2f}%"
