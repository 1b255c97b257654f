"""What the kind "layers" needs besides numbers: which layer, heads and row are chosen at first, and what to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def as_chosen(given: Any, maps: tuple[int, ...]) -> dict[str, Any]:
    """`chosen` completed and checked, for maps of shape (layer, head, row, row): layer, heads, row, size.

    `layer` and the `heads`, one of each layer, count from 1, as they are called; `row` counts from 0, as in the tensor.
    Raises TypeError or ValueError naming what does not exist.
    """
    n_layers, n_heads, n = maps[:3]
    if not isinstance(given, Mapping) or (unknown := set(given) - {"layer", "heads", "row"}):
        words = f"keys {sorted(map(str, unknown))}" if isinstance(given, Mapping) else repr(given)
        raise TypeError(f"chosen must map some of 'layer', 'heads' and 'row' to places, got {words}")
    layer, heads, row = given.get("layer", 1), given.get("heads", [1] * n_layers), given.get("row", min(1, n - 1))
    if not isinstance(heads, Sequence) or len(heads) != n_layers:
        raise ValueError(f"chosen must name one head of each of the {n_layers} layers, got heads={heads!r}")
    places = [("layer", layer, 1, n_layers), *(("heads", head, 1, n_heads) for head in heads), ("row", row, 0, n - 1)]
    for name, place, low, high in places:
        if not isinstance(place, int) or isinstance(place, bool) or not low <= place <= high:
            raise ValueError(f"chosen must have its {name} from {low} to {high}, got {place!r}")
    return {"layer": layer, "heads": list(heads), "row": row, "size": (n_layers, n_heads)}


def layers_layout(marks: Mapping[str, str], options: Mapping[str, Any], spread: list[np.ndarray]) -> dict[str, Any]:
    """The names of the entries by mark, what is chosen at first, and the top of the scale of `spread`."""
    names = {mark: name for name, mark in marks.items()}
    return {
        "names": names,
        "chosen": options["chosen"],
        "note_label": options.get("note_label", "Notes"),
        "scale_name": "weight",
        "spread_top": max((float(array.max()) for array in spread), default=1.0) or 1.0,
    }
