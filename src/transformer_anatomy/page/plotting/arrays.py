"""What a figure is made of: a tensor or a dict of them, checked and turned into arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from transformer_anatomy.page.plotting.fonts import drawable


def as_arrays(values: Any) -> dict[str, np.ndarray]:
    """Name to float array; a bare tensor gets the empty name. Raises TypeError or ValueError naming the entry."""
    if not isinstance(values, Mapping):
        values = {"": values}
    if not values:
        raise ValueError("values must hold at least one tensor, got none")
    return {str(name): as_array(f"values[{name!r}]" if name else "values", value) for name, value in values.items()}


def as_array(argument: str, value: Any) -> np.ndarray:
    """`value` (tensor, array, number, nested list) as a float64 array of finite numbers."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().double().numpy()
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{argument} must hold numbers, got {type(value).__name__}") from None
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError(
            f"{argument} must hold finite numbers, got {array.size - np.isfinite(array).sum()} that are not"
        )
    return array


def as_labels(argument: str, labels: Sequence[str] | None, count: int) -> list[str]:
    """`count` labels that the fonts can draw, or none at all."""
    if labels is None:
        return []
    labels = [drawable(str(label)) for label in labels]
    if len(labels) != count:
        raise ValueError(f"{argument} must name {count} positions, got {len(labels)}: {labels}")
    return labels


def as_limits(limits: Sequence[float]) -> tuple[float, float]:
    """Two finite numbers, the lower first."""
    low, high = as_array("range", limits)
    if not low < high:
        raise ValueError(f"range must be (low, high) with low < high, got ({low:g}, {high:g})")
    return float(low), float(high)


def padded_limits(array: np.ndarray) -> tuple[float, float]:
    """The smallest and largest value with some room around them."""
    low, high = float(array.min()), float(array.max())
    room = 0.06 * (high - low) or 0.5
    return low - room, high + room


def split_named(argument: str, names: Sequence[str], arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The entries that the option `argument` names; raises ValueError when one of them is missing."""
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"{argument} names {missing}, but values has {list(arrays)}")
    return {name: arrays[name] for name in names}
