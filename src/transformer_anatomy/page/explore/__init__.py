"""`explore`: one figure with three lives: a picture, stored frames in the book, and computed where a kernel is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transformer_anatomy.page.explore.computing import Computation
from transformer_anatomy.page.explore.explorer import Explorer
from transformer_anatomy.page.explore.grids import Grid, as_grid


def explore(
    function: Callable[..., Any],
    *,
    title: str,
    alt: str,
    caption: str = "",
    readout: Callable[..., str] | None = None,
    kind: str | None = None,
    labels: Mapping[str, str] | None = None,
    rows: Any = None,
    columns: Any = None,
    row_label: str | None = None,
    column_label: str | None = None,
    range: Sequence[float] | None = None,
    colors: str | None = None,
    x: Any = None,
    x_label: str | None = None,
    y_label: str | None = None,
    x_scale: str | None = None,
    baselines: Sequence[str] | None = None,
    points: Sequence[str] | None = None,
    notes: Any = None,
    note_label: str | None = None,
    chosen: Mapping[str, Any] | None = None,
    **controls: Any,
) -> Explorer:
    """A figure moved by `controls`, which are parameters of `function`: `temperature=logspace(0.1, 10, 21, start=1)`.

    `function` returns a tensor or a dict of name -> tensor, and may take `device`. `kind` says how they are drawn:

    - "heatmap" (anything 2-D): maps (row, column) side by side; one 1-D entry is a strip of dots beside the rows, one
      0-D entry its dashed baseline. Options: rows, columns, row_label, column_label, range,
      colors ("weights" | "signed").
    - "lines" (a dict of 1-D): curves (x,), or (3, x) = lower, middle, upper for a curve in a band; entries named in
      `baselines` are dashed, entries (2,) = x, y named in `points` are dots. Options: x, x_label, y_label,
      x_scale ("linear" | "log"), range.
    - "bars" (a 1-D tensor): bars with their values. Options: columns, y_label, range, baselines.
    - "layers" (anything 4-D): one sample through a stack, steered by layer, head and row. Entries: weights (layer,
      head, row, row); a number for each row of each map (layer, head, row) and its 0-D baseline; the likeness of any
      two rows (layer + 1, row, row), before the first layer and after each. Options: rows; notes, a text for each
      place of the likeness, row fastest, and note_label; chosen, such as {"layer": 2, "heads": [3, 9], "row": 1}.

    `rows`, `columns`, `notes` and `x` are lists, or functions of the controls. `readout(values, **controls)` puts what
    `function` returned into one sentence. `title` is the finding, `alt` says what is to be seen, `caption` how it was
    made (*so* for emphasis), and `labels` renames controls.

    All frames are computed at once. Raises TypeError or ValueError for what cannot be drawn or is above 300 KB, and
    RuntimeError naming the settings at which `function` or `readout` fails.
    """
    options = {"rows": rows, "columns": columns, "row_label": row_label, "column_label": column_label}
    options |= {"x": x, "x_label": x_label, "y_label": y_label, "x_scale": x_scale}
    options |= {"range": range, "colors": colors, "baselines": baselines, "points": points}
    options |= {"notes": notes, "note_label": note_label, "chosen": chosen}
    for name, value in options.items():
        if isinstance(value, Grid):
            raise TypeError(f"{name} is an option of explore and cannot be a control: rename the function's parameter")
    for name, text in {"title": title, "alt": alt}.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} must be a sentence, got {text!r}")
    if not isinstance(caption, str):
        raise TypeError(f"caption must be text, got {caption!r}")
    labels = {} if labels is None else labels
    if not isinstance(labels, Mapping) or not all(isinstance(label, str) for label in labels.values()):
        raise TypeError(f"labels must map names of controls to texts, got {labels!r}")
    computation = Computation(function, {name: as_grid(name, given) for name, given in controls.items()}, readout)
    if unknown := [name for name in labels if name not in controls]:
        raise ValueError(f"labels names {unknown}, but the controls are {list(controls)}")
    labels = {name: _spoken(name) for name in controls} | dict(labels)
    return Explorer(computation, kind, options, {"title": title, "alt": alt, "caption": caption}, labels)


def _spoken(name: str) -> str:
    """A parameter's name as the label of its control: spaces, and a capital where it is a word."""
    words = name.replace("_", " ")
    return words[0].upper() + words[1:] if len(words.split()[0]) > 2 else words
