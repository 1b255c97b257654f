"""What a figure is made of: tensors, limits and words, checked and turned into what is drawn."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from transformer_anatomy.page.plotting.fonts import drawable

LARGEST = float(np.finfo(np.float32).max)


def as_arrays(values: Any) -> dict[str, np.ndarray]:
    """Name to float array; a bare tensor gets the empty name. Raises TypeError or ValueError naming the entry."""
    if not isinstance(values, Mapping):
        values = {"": values}
    if not values:
        raise ValueError("values must hold at least one tensor, got none")
    if len({str(name) for name in values}) < len(values):
        raise ValueError(f"values must have names that differ when written, got {list(values)}")
    return {str(name): as_array(f"values[{name!r}]" if name else "values", value) for name, value in values.items()}


def as_array(argument: str, value: Any) -> np.ndarray:
    """`value` (tensor, array, number, nested list) as a float64 array of finite numbers."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{argument} must hold numbers, got {_shortened(value)}") from None
    if array.size == 0:
        raise ValueError(f"{argument} must hold at least one number, got shape {array.shape}")
    if wrong := array.size - np.isfinite(array).sum():
        raise ValueError(f"{argument} must hold finite numbers, got {wrong} that are not")
    if np.abs(array).max() > LARGEST:
        raise ValueError(f"{argument} must hold numbers of float32, got {np.abs(array).max():.3g}")
    return array


def as_words(argument: str, words: Any) -> str:
    """A label that the fonts can draw."""
    if not isinstance(words, str):
        raise TypeError(f"{argument} must be text, got {_shortened(words)}")
    return drawable(words)


def as_choice(argument: str, value: Any, choices: Sequence[str]) -> str:
    """`value` where it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{argument} must be one of {list(choices)}, got {_shortened(value)}")
    return value


def as_labels(argument: str, labels: Iterable[Any] | None, count: int) -> list[str]:
    """`count` labels that the fonts can draw, or none at all."""
    if labels is None:
        return []
    labels = [drawable(str(label)) for label in _listed(argument, labels)]
    if len(labels) != count:
        raise ValueError(f"{argument} must name {count} positions, got {len(labels)}: {labels}")
    return labels


def as_places(argument: str, places: Any, count: int) -> tuple[np.ndarray, list[tuple[float, str]]]:
    """`count` numbers, 1, 2, 3... by default; for names their places, and each name with its place."""
    if places is None:
        return np.arange(1.0, count + 1), []
    if isinstance(places, Sequence) and any(isinstance(place, str) for place in places):
        names = as_labels(argument, places, count)
        return np.arange(float(count)), list(enumerate(names))
    array = as_array(argument, places if hasattr(places, "shape") else _listed(argument, places))
    if array.shape != (count,):
        raise ValueError(f"{argument} must have shape ({count},), one value a point, got {array.shape}")
    return array, []


def as_limits(argument: str, limits: Any) -> tuple[float, float]:
    """Two finite numbers, the lower first."""
    found = as_array(argument, limits)
    if found.shape != (2,) or not found[0] < found[1]:
        raise ValueError(f"{argument} must be (low, high) with low < high, got {_shortened(limits)}")
    return float(found[0]), float(found[1])


def padded_limits(array: np.ndarray) -> tuple[float, float]:
    """The smallest and largest value with some room around them."""
    low, high = float(array.min()), float(array.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def as_names(argument: str, names: Any) -> list[str]:
    """Names of entries, given as a list."""
    names = _listed(argument, names)
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must list names of entries, got {_shortened(names)}")
    return names


def split_named(argument: str, names: Any, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The entries that the option `argument` names; raises ValueError when one of them is missing."""
    names = as_names(argument, names)
    if missing := [name for name in names if name not in arrays]:
        raise ValueError(f"{argument} names {missing}, but values has {list(arrays)}")
    return {name: arrays[name] for name in names}


def _listed(argument: str, values: Any) -> list:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__"):
        raise TypeError(f"{argument} must be a list, got {_shortened(values)}")
    return list(values)


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
