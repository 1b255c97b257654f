"""Where an axis is ticked."""

import math
from collections.abc import Iterable


def round_steps(lo: float, hi: float, log: bool = False) -> list[float]:
    """Round numbers from lo to hi: about five or, on a log scale, powers of ten (and 2, 5)."""
    if log:
        factors = (1, 2, 5) if hi / lo < 100 else (1,)
        powers = range(math.floor(math.log10(lo)), math.ceil(math.log10(hi)) + 1)
        steps = [float(f"{factor}e{power}") for power in powers for factor in factors]
        return [step for step in steps if lo * (1 - 1e-6) <= step <= hi * (1 + 1e-6)] or [lo, hi]
    if lo == hi:
        return [lo]
    step, digits = step_between(lo, hi)
    return [round(k * step, digits) for k in range(math.ceil(lo / step - 1e-6), math.floor(hi / step + 1e-6) + 1)]


def step_between(lo: float, hi: float) -> tuple[float, int]:
    """The distance of ticks, 1, 2 or 5 times a power of ten, and how many decimals that has."""
    power = 10.0 ** math.floor(math.log10((hi - lo) / 4))
    step = next(power * factor for factor in (1, 2, 5, 10) if (hi - lo) / (power * factor) <= 6)
    return step, max(0, 2 - math.floor(math.log10(step)))


def own_steps(places: Iterable[float]) -> list[float]:
    """The places of the points themselves where they are few and short to write, else none."""
    places = list(map(float, places))
    few = len(places) <= 12 and all(place == float(f"{place:.4g}") for place in places)
    return places if few else []
