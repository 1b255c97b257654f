"""The HTML of a figure in its fixed order: title, controls, picture, readout, state, data table, caption, frames."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any

from transformer_anatomy.page.explore.grids import Grid
from transformer_anatomy.page.numerals import bound_text

ID = "explore-id"  # stands for the figure's own id until it is shown


def figure(texts: Mapping[str, str], controls: str, picture: str, scale: str, readout: str, stored: Any) -> str:
    """The figure, complete without its script: then the picture stands there, and what would be dead is hidden."""
    title, caption = html.escape(texts["title"]), html.escape(texts["caption"])
    caption = re.sub(r"(?<!\w)\*(\S|\S[^*]*\S)\*(?!\w)", r"<em>\1</em>", caption)
    # No "<" in the data: no text in it can end the element that holds it.
    frames = json.dumps(stored, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<figure class="explore anatomy" id="{ID}" aria-labelledby="{ID}-title">'
        f'<p class="title" id="{ID}-title">{title}</p>'
        f'<div class="controls">{controls}</div>'
        f'<div class="picture">{picture}</div>{scale}'
        f'<p class="readout" aria-live="polite">{html.escape(readout)}</p>'
        '<p class="problem" role="alert"></p>'
        '<p class="state"><noscript>This is the first frame; the controls need JavaScript.</noscript></p>'
        '<details class="data"><summary>Data table</summary><div></div></details>'
        f"<figcaption>{caption}</figcaption>"
        f'<script type="application/vnd.explore+json">{frames}</script></figure>'
    )


def control(label: str, grid: Grid) -> str:
    """A native slider or menu over the places of the grid; the script names the value."""
    label = html.escape(label)
    name = f'<span class="name">{label}</span>'
    if grid.scale == "menu":
        words = [value if isinstance(value, str) else "yes" if value else "no" for value in grid.values]
        options = "".join(f'<option value="{place}">{html.escape(word)}</option>' for place, word in enumerate(words))
        return f'<label>{name}<select aria-label="{label}">{options}</select></label>'
    last = len(grid.values) - 1
    ticks = "".join(_tick(grid.values[place], place / last) for place in _ticked(grid))
    slider = f'<input type="range" min="0" max="{last}" value="{grid.start}" aria-label="{label}">'
    return f'<label class="slider">{name}<span>{slider}<small>{ticks}</small></span><output></output></label>'


def _tick(value: float, at: float) -> str:
    return f'<span style="--at:{at:.4g}" data-value="{value}">{bound_text(value)}</span>'


def _ticked(grid: Grid) -> list[int]:
    """Places with a number under the slider: all of a few, else the ends and the start, or the middle."""
    last = len(grid.values) - 1
    inner = range(1, last) if last < 6 else [grid.start if 0.1 <= grid.start / last <= 0.9 else last // 2]
    return sorted({0, last, *inner})


def colour_scale(name: str, colors: str, lo: float, hi: float) -> str:
    """The bar of colours under a heat map; the script marks the chosen cells on it."""
    return (
        f'<div class="bar">{html.escape(name)} <span>{bound_text(lo)}</span>'
        f'<i class="{colors}"></i><span>{bound_text(hi)}</span></div>'
    )
