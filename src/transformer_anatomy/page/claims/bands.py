"""A band of numbers: what a statement says, with its tolerance, or where a measurement has to lie."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from transformer_anatomy.page.numerals import written


@dataclass(frozen=True)
class Band:
    """The numbers from `low` to `high`; a bound that is `open` does not belong to the band.

    ``above`` and ``below`` exclude their bound, ``near``/``within`` and ``between`` include theirs.
    """

    low: float
    high: float
    open: bool = False
    text: str = ""

    def __contains__(self, value: float) -> bool:
        return self.low < value < self.high if self.open else self.low <= value <= self.high

    def apart_from(self, other: "Band") -> bool:
        """Whether no number lies in both bands."""
        return self.high < other.low or other.high < self.low

    @property
    def leaving(self) -> str:
        """What a number does that leaves the band, for a sentence."""
        if math.isinf(self.high):
            return f"drops to {_text(self.low)} or below"
        if math.isinf(self.low):
            return f"rises to {_text(self.high)} or above"
        return f"leaves {_text(self.low)} to {_text(self.high)}"

    @property
    def entering(self) -> str:
        """What a number does that enters the band, for a sentence."""
        if math.isinf(self.high):
            return f"rises above {_text(self.low)}"
        if math.isinf(self.low):
            return f"drops below {_text(self.high)}"
        return f"comes between {_text(self.low)} and {_text(self.high)}"


BOUNDS = ("near", "within", "above", "below", "between")


def band(where: str, bounds: Mapping[str, Any]) -> Band | None:
    """The band of `near` and `within`, `above`, `below`, or `between`; None when no bound is given.

    `where` names the bounds in error messages. Raises TypeError for a bound that is no number and ValueError for bounds
    that do not go together or leave nothing between them.
    """
    bounds = {key: value for key, value in bounds.items() if value is not None}
    text = bounds.pop("text", "")
    if not isinstance(text, str):
        raise TypeError(f"{where}.text must be a string, got {text!r}")
    for key in bounds:
        if key not in BOUNDS:
            raise ValueError(f"{where} has {key!r}; accepted are {', '.join((*BOUNDS, 'text'))}")
    between = bounds.pop("between", None)
    numbers = {key: _number(f"{where}.{key}", value) for key, value in bounds.items()}
    if between is not None:
        if numbers or not isinstance(between, list | tuple) or len(between) != 2:
            raise ValueError(f"{where}.between must stand alone and hold two numbers, got {between!r}")
        low, high = (_number(f"{where}.between", value) for value in between)
        made = Band(low, high, text=text or f"{_text(low)} to {_text(high)}")
    elif "near" in numbers or "within" in numbers:
        if set(numbers) != {"near", "within"}:
            raise ValueError(f"{where} must give near and within together and alone, got {sorted(numbers)}")
        near, within = numbers["near"], numbers["within"]
        if within < 0:
            raise ValueError(f"{where}.within must not be negative, got {within:g}")
        made = Band(near - within, near + within, text=text or _near_text(near, within))
    elif numbers:
        low, high = numbers.get("above", -math.inf), numbers.get("below", math.inf)
        words = [f"{key} {_text(value)}" for key, value in sorted(numbers.items())]
        made = Band(low, high, open=True, text=text or " and ".join(words))
    elif text:
        raise ValueError(f"{where} has a text but no bound: add one of {', '.join(BOUNDS)}")
    else:
        return None
    if made.low > made.high or (made.open and made.low == made.high):
        raise ValueError(f"{where} leaves nothing between {made.low:g} and {made.high:g}")
    return made


def _number(where: str, value: Any) -> float:
    if isinstance(value, str) and re.fullmatch(r"-?\d+(\.\d+)?e-?\d+", value, re.ASCII):
        value = float(value)  # YAML 1.1 takes 1e-6 for a string
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{where} must be a finite number, got {value!r}")
    return float(value)


def _near_text(near: float, within: float) -> str:
    """The centre with at least as many decimals as the tolerance."""
    if within == 0:
        return _text(near)
    tolerance = f"{within:.6g}"
    centre = f"{near:.6g}" if "e" in tolerance else f"{near:.{len(tolerance.partition('.')[2])}f}"
    return f"{written(max(centre, f'{near:.6g}', key=len))} ± {written(tolerance)}"


def _text(bound: float) -> str:
    """A bound, no longer than somebody wrote it: 2, 0.98, 10⁻⁶, −5."""
    return written(f"{bound:.6g}")
