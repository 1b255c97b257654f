"""The measuring strip: a grey band for what the document says, a dot for what was measured, on one axis."""

import html
import math
from collections.abc import Sequence

from transformer_anatomy.page.claims.bands import Band
from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.labels import LINE, Label, over, percent, under
from transformer_anatomy.page.numerals import digits, written

FAR = 60  # a dot farther off than this many widths of the band leaves the axis, so that the band can still be seen
AXIS = 22  # px from the top, below one line of text


def strip(says: Band | None, evidence: Evidence) -> str:
    """The strip as SVG that fills any width; its aria-label says the same in words.

    Without a band of the document the outline of the chapter's own criterion stands in its place.
    """
    band = says or evidence.criterion
    low, high = _axis(band, [*evidence.measured, *evidence.otherwise])

    def share(value: float) -> float:
        return min(1.0, max(0.0, (value - low) / (high - low)))

    shapes = ['<line class="axis" x1="0" x2="100%"/>']
    if band:
        start, end = share(band.low), share(band.high)
        middle, half = (start + end) / 2, max((end - start) / 2, 0.008)
        box = f'x="{percent(middle - half)}" width="{percent(2 * half)}" y="-6" height="12" rx="2"'
        shapes.insert(0, f'<rect class="{"says" if says else "asked"}" {box}/>')
    if len(set(evidence.measured)) > 1:
        start, end = (percent(share(end(evidence.measured))) for end in (min, max))
        shapes.append(f'<line class="range" x1="{start}" x2="{end}"/>')
    labels = []
    for values, kind in ((evidence.measured, "at"), (evidence.otherwise, "open")):
        if not values:
            continue
        mean = math.fsum(values) / len(values)
        arrow = "← " if mean < low else "→ " if mean > high else ""
        dots = sorted(set(values)) if _counts(values) else [mean]
        shapes += [_mark(share(dot), kind, arrow) for dot in dots]
        name = f" · {evidence.label}" if kind == "open" else ""
        labels.append(Label(share(mean), f"{arrow}{_value(values, mean, band)}{name}"))
    words = [f"measured {', '.join(label.text for label in labels)}"]
    texts, lines = over(*labels)
    axis = AXIS + LINE * (lines - 1)
    height = axis + AXIS
    if band:
        words.insert(0, f"{'the document says' if says else 'expected'} {band.text}")
        below, lines = under(Label(middle, band.text), axis + 19)
        texts, height = texts + below, height + LINE * (lines - 1)
    return (
        f'<svg class="measure" role="img" height="{height}" aria-label="{html.escape("; ".join(words))}">'
        f'<g transform="translate(0 {axis})">{"".join(shapes)}</g>{texts}</svg>'
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
        return f'<circle class="{kind}" cx="{percent(share)}" r="4.5"/>'
    path = "M10-5l-9 5 9 5z" if arrow.startswith("←") else "M-10-5l9 5-9 5z"
    return f'<svg x="{percent(share)}" overflow="visible"><path class="{kind}" d="{path}"/></svg>'


def _counts(values: Sequence[float]) -> bool:
    return all(isinstance(value, int) for value in values)


def _value(values: Sequence[float], mean: float, band: Band | None) -> str:
    """Counts as they are; else the mean, with as many digits as it takes to see on which side of the band it lies."""
    if _counts(values):
        ends = [written(digits(end)) for end in (min(values), max(values))]
        return ends[0] if ends[0] == ends[1] else (" and " if len(set(values)) == 2 else " to ").join(ends)
    text = digits(mean)
    for significant in range(3, 9):
        if band is None or (float(text.replace(",", "")) in band) == (mean in band):
            break
        text = f"{mean:.{significant}g}"
    return written(text)
