"""What can be had without understanding: the baselines that every measured accuracy and loss stands beside."""

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_anatomy.lab.requests import IGNORED


def majority_share(targets: Int[Tensor, "..."]) -> float:
    """The accuracy of always giving the most frequent target, between 0 and 1; places marked `IGNORED` do not count.

    Counted on the targets given: with few of them it lies above the share in the long run. Raises `ValueError` when
    there is nothing to count.
    """
    counts = _counts(targets)
    return (counts.max() / counts.sum()).item()


def unigram_entropy(targets: Int[Tensor, "..."]) -> float:
    """The loss in nats of giving each target its frequency, `-Σ p·ln p` (Shannon 1948): the least without context.

    Places marked `IGNORED` do not count. Raises `ValueError` when there is nothing to count.
    """
    counts = _counts(targets).double()
    shares = counts / counts.sum()
    return 0.0 - (shares * shares.log()).sum().item()


def _counts(targets: Tensor) -> Tensor:
    counted = targets[targets != IGNORED]
    if counted.numel() == 0:
        raise ValueError(f"targets must hold at least one that is not {IGNORED}, got shape {tuple(targets.shape)}")
    return torch.unique(counted, return_counts=True)[1]
