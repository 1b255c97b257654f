"""The measuring strip: a grey band for what the document says, a dot for what was measured, on one axis."""

import html
import math
import textwrap
from collections.abc import Sequence

from transformer_anatomy.page.claims.bands import Band
from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.numerals import value_text

NOMINAL = 190  # px: texts are kept apart at this width, the strip itself takes any
CHARACTER = 6.4
FAR = 60  # a dot farther off than this many widths of the band leaves the axis, so that the band can still be seen
ROWS = (11, 41, 55, 69, 83)  # baselines: above the axis, below it, and further down where those are taken


def strip(says: Band | None, evidence: Evidence) -> str:
    """The strip as SVG that fills any width; its aria-label says the same in words.

    Without a band of the document the outline of the chapter's own criterion stands in its place.
    """
    band = says or evidence.criterion
    dots = [(evidence.mean, "", "at")]
    if evidence.otherwise:
        dots.append((math.fsum(evidence.otherwise) / len(evidence.otherwise), f" {evidence.label}", "open"))
    low, high = _axis(band, [*evidence.measured, *evidence.otherwise])

    def share(value: float) -> float:
        return min(1.0, max(0.0, (value - low) / (high - low)))

    shapes = ['<line class="axis" x1="0" x2="100%" y1="22" y2="22"/>']
    if band:
        start, end = share(band.low), share(band.high)
        middle, half = (start + end) / 2, max((end - start) / 2, 0.008)
        box = f'x="{_percent(middle - half)}" width="{_percent(2 * half)}" y="16" height="12" rx="2"'
        shapes.insert(0, f'<rect class="{"says" if says else "asked"}" {box}/>')
    if len(set(evidence.measured)) > 1:
        start, end = (_percent(share(end(evidence.measured))) for end in (min, max))
        shapes.append(f'<line class="range" x1="{start}" x2="{end}" y1="22" y2="22"/>')
    labels = []
    for value, suffix, kind in dots:
        arrow = "← " if value < low else "→ " if value > high else ""
        shapes.append(_mark(share(value), kind, arrow))
        labels.append((share(value), arrow + _distinct_text(value, band) + suffix, 0))
    words = [f"measured {', '.join(text for _, text, _ in labels)}"]
    if band:
        words.insert(0, f"{'the document says' if says else 'expected'} {band.text}")
        labels.append((middle, band.text, 1))
    texts, height = _place(labels)
    return (
        f'<svg class="measure" role="img" height="{height}" aria-label="{html.escape("; ".join(words))}">'
        f"{''.join(shapes)}{texts}</svg>"
    )


def _axis(band: Band | None, values: Sequence[float]) -> tuple[float, float]:
    """Ends of the axis: band and dots with room around them, or the band alone when a dot is very far off."""
    edges = [edge for edge in (band.low, band.high) if math.isfinite(edge)] if band else []
    width = edges[1] - edges[0] if len(edges) == 2 else 0.0
    low, high = min(*edges, *values, math.inf), max(*edges, *values, -math.inf)
    if width and high - low > FAR * width:
        return edges[0] - 4 * width, edges[1] + 4 * width
    room = 0.24 * (high - low) or 0.24 * abs(high) or 1.0
    return low - room, high + room


def _mark(share: float, kind: str, arrow: str) -> str:
    if not arrow:
        return f'<circle class="{kind}" cx="{_percent(share)}" cy="22" r="4.5"/>'
    path = "M10 17l-9 5 9 5z" if arrow.startswith("←") else "M-10 17l9 5-9 5z"
    return f'<svg x="{_percent(share)}" overflow="visible"><path class="{kind}" d="{path}"/></svg>'


def _place(labels: Sequence[tuple[float, str, int]]) -> tuple[str, int]:
    """Texts over their marks, each in the first row from its own downwards where it touches no other."""
    taken: dict[int, list[tuple[float, float]]] = {row: [] for row in ROWS}
    texts = []
    for share, text, first in labels:
        for line in textwrap.wrap(text, int(NOMINAL / CHARACTER)):
            width = CHARACTER * len(line)
            start = min(max(share * NOMINAL - width / 2, 0.0), NOMINAL - width)
            free = (y for y in ROWS[first:] if all(start > b + 6 or start + width < a - 6 for a, b in taken[y]))
            row = next(free, ROWS[-1])
            taken[row].append((start, start + width))
            # Where the mark is nearer to an end than half the text is long, the text starts or ends there.
            at, anchor = (share, "middle")
            if share * NOMINAL < width / 2:
                at, anchor = (0.0, "start")
            elif share * NOMINAL > NOMINAL - width / 2:
                at, anchor = (1.0, "end")
            quiet = ' class="quiet"' if first else ""
            texts.append(f'<text{quiet} x="{_percent(at)}" y="{row}" text-anchor="{anchor}">{html.escape(line)}</text>')
    return "".join(texts), max(44, *(row + 3 for row in ROWS if taken[row]))


def _distinct_text(value: float, band: Band | None) -> str:
    """The value with as many digits as it takes to see on which side of the band's edge it lies."""
    text = value_text(value)
    for digits in range(3, 9):
        if band is None or (float(text.replace("−", "-").replace(",", "")) in band) == (value in band):
            break
        text = f"{value:.{digits}g}".replace("-", "−", 1)
    return text


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"
