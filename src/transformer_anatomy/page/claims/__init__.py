"""claim: one statement of the documents against one measurement."""

import math
from collections.abc import Sequence
from typing import Any

from transformer_anatomy.page.claims.bands import band
from transformer_anatomy.page.claims.cards import Card
from transformer_anatomy.page.claims.evidence import ClaimError, Evidence, support
from transformer_anatomy.page.claims.ledger import statement

__all__ = ["ClaimError", "claim"]


def claim(
    identifier: str,
    *,
    measured: Any,
    otherwise: tuple[Any, str] | None = None,
    near: float | None = None,
    within: float | None = None,
    above: float | None = None,
    below: float | None = None,
    between: Sequence[float] | None = None,
    note: str = "",
) -> None:
    """Shows the card of one statement, or raises ClaimError when `measured` does not support its verdict.

    `measured` is a number, or one number a seed, all of which have to agree; an int is a count. Whether they have to
    lie inside or outside the band that the ledger records under `says` follows from the verdict. ``holds under a
    condition`` also needs `otherwise`: a measurement where the condition fails, which has to lie outside, and its
    label. `near` and `within`, `above`, `below` or `between` say where the measurement has to lie whatever the verdict.

    Raises ValueError for an id that the ledger lacks and for a claim that nothing could make fail.
    """
    from IPython.display import display

    entry = statement(identifier)
    criterion = band(identifier, {"near": near, "within": within, "above": above, "below": below, "between": between})
    if otherwise is not None and not (isinstance(otherwise, tuple) and len(otherwise) == 2 and otherwise[1]):
        raise TypeError(f"otherwise must be (value, label), got {otherwise!r}")
    value, label = otherwise or ((), "")
    evidence = Evidence(
        measured=_numbers("measured", measured),
        otherwise=_numbers("otherwise", value) if otherwise else (),
        label=label,
        criterion=criterion,
        note=note,
    )
    support(entry, evidence)
    display(Card(entry, evidence))


def _numbers(argument: str, value: Any) -> tuple[float, ...]:
    """`value` as one or several finite numbers, ints if all are; a NaN is a measurement that failed."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    numbers = list(plain) if isinstance(plain, list | tuple) else [plain]
    numbers = [number.item() if hasattr(number, "item") else number for number in numbers]
    if not numbers or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
        raise TypeError(f"{argument} must be a number or a sequence of numbers, got {value!r}")
    if not all(map(math.isfinite, numbers)):
        raise ClaimError(f"{argument} must be finite, got {numbers}: a measurement failed")
    return tuple(numbers if all(isinstance(number, int) for number in numbers) else map(float, numbers))
