"""Attention that is sharp to no use."""

import math
from collections.abc import Iterator

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.figures import LayerFigures, is_inside
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.numerals import percent_text, value_text
from transformer_anatomy.instruments.health.observation import Observation


def saturated(stack: list[LayerFigures], seen: Observation) -> Iterator[Finding]:
    """The first layer, if its scores are so far apart as only their scale makes them, or the sharpest, at any rate.

    Attention that has learned to be sharp is no fault: its choices lower the loss. Nor is it in a frozen layer. Scores
    without 1/√d_head are told from others down to a d_head of 8 or so; there they are hardly larger.
    """
    attending = [(layer.path, *sharpness(layer.path, seen)) for layer in stack if layer.gradient is not None]
    yield from _saturated([sharp for sharp in attending if not math.isnan(sharp[1])])


def saturated_alone(layers: set[str], seen: Observation) -> Iterator[Finding]:
    """Attention outside all layers, where there is no first one to be held to more."""
    for path, figures in seen.maps.items():
        alone = not any(is_inside(path, layer) for layer in layers)
        if alone and figures.entropy < at.COPYING_ENTROPY:
            yield from _saturated([(path, *sharpness(path, seen))])


def _saturated(attending: list[tuple[str, float, float]]) -> Iterator[Finding]:
    """`attending` holds path, entropy and spread, the first layer first."""
    if not attending:
        return
    first, sharpest = attending[0], min(attending, key=lambda layer: layer[1])
    copying = sharpest[1] < at.COPYING_ENTROPY and sharpest[2] > at.COPYING_SPREAD
    if first[1] < at.SATURATED_ENTROPY and first[2] > at.SATURATED_SPREAD and not copying:
        sharpest = first
    elif not copying:
        return
    path, entropy, spread = sharpest
    share = f"the entropy of its attention is {percent_text(entropy)} of that of uniform attention"
    wide = f"the quartiles of a query's scores lie {value_text(spread)} apart, at the start 1 to 2 are usual"
    yield Finding("saturated", path, f"most of a query's weight is on few keys: {share}; {wide}")


def sharpness(path: str, seen: Observation) -> tuple[float, float]:
    """Mean entropy and largest spread of the maps at `path` whose choices are worth nothing; nan if there are none."""
    maps = [figures for place, figures in seen.maps.items() if is_inside(place, path) and not _works(place, seen)]
    maps = [figures for figures in maps if not math.isnan(figures.entropy)]
    if not maps:
        return math.nan, math.nan
    spreads = (figures.spread for figures in maps if not math.isnan(figures.spread))
    return sum(figures.entropy for figures in maps) / len(maps), max(spreads, default=0.0)


def _works(place: str, seen: Observation) -> bool:
    worth = seen.worth(place)
    return worth is not None and worth > at.WORKING_CHOICES
