"""What can be had without understanding: the baselines that every measured accuracy and loss stands beside."""

import math
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer_anatomy.lab.requests import IGNORED


def majority_share(targets: Int[Tensor, "..."], clue: Int[Tensor, "..."] | None = None) -> float:
    """The accuracy of always giving the most frequent target, between 0 and 1; places marked `IGNORED` do not count.

    With a `clue` of the same shape, say the position or the word, it is that of giving the most frequent target for
    each clue: what the clue alone gives away. Counted on the targets given: with few of them for a clue it lies above
    the share in the long run. Raises `ValueError` when there is nothing to count and for a clue of another shape.
    """
    if clue is not None and clue.shape != targets.shape:
        raise ValueError(f"clue must have the shape of targets, {tuple(targets.shape)}, got {tuple(clue.shape)}")
    counts = _counts(targets)
    n_counted = counts.sum().item()
    if clue is None:
        return counts.max().item() / n_counted
    asked = targets != IGNORED
    pairs, counts = torch.unique(torch.stack([clue[asked], targets[asked]]), dim=1, return_counts=True)
    return sum(counts[pairs[0] == value].max().item() for value in pairs[0].unique()) / n_counted


def unigram_entropy(targets: Int[Tensor, "..."]) -> float:
    """The loss in nats of giving each target its frequency, `-Σ p·ln p` (Shannon 1948): the least without context.

    Places marked `IGNORED` do not count. Raises `ValueError` when there is nothing to count.
    """
    counts = _counts(targets).double()
    shares = counts / counts.sum()
    return 0.0 - (shares * shares.log()).sum().item()


@lru_cache
def bag_share(length: int, n_symbols: int) -> float:
    """The accuracy of writing down random symbols, knowing which there are but not their order.

    Such a reader gives the most frequent of those not yet written; of `m` that are left it is right for `E[max]/m`, the
    largest of `m` draws' counts. Exact, and averaged over all places; without a place it is chance.
    """
    counts = np.arange(length + 1)
    below = np.ones((length + 1, length + 1))  # [c, m]: the probability that none of the counts of m draws exceeds c
    below[:, 1:] = 0  # of no symbols
    for n in range(1, n_symbols + 1):
        wider = np.zeros_like(below)
        for j in range(length + 1):  # times the n-th symbol is drawn
            drawn = np.array([math.comb(m, j) * (1 / n) ** j * (1 - 1 / n) ** (m - j) for m in range(j, length + 1)])
            wider[j:, j:] += drawn * below[j:, : length + 1 - j]
        below = wider
    largest = (1 - below).sum(axis=0)
    return float((largest[1:] / counts[1:]).mean()) if length else 1 / n_symbols


def _counts(targets: Tensor) -> Tensor:
    counted = targets[targets != IGNORED]
    if counted.numel() == 0:
        raise ValueError(f"targets must hold at least one that is not {IGNORED}, got shape {tuple(targets.shape)}")
    return torch.unique(counted, return_counts=True)[1]
