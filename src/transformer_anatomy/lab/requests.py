"""Where the random numbers of a request for data come from, and what marks a place that asks nothing."""

import random

import torch

IGNORED = -100  # The target at a place that asks nothing; `F.cross_entropy` skips it.


def as_generator(seed: int | torch.Generator) -> torch.Generator:
    """A generator that starts at `seed`, or the given one, which goes on where it stands.

    Data is made on the generator's device. The global random state is neither read nor changed.
    """
    if isinstance(seed, torch.Generator):
        return seed
    _check_seed(seed)
    return torch.Generator().manual_seed(seed)


def as_random(seed: int | torch.Generator) -> random.Random:
    """Python's own random numbers, started at `seed` or at one number drawn from the given generator."""
    if isinstance(seed, torch.Generator):
        seed = int(torch.randint(2**62, (), generator=seed, device=seed.device))
    _check_seed(seed)
    return random.Random(seed)


def _check_seed(seed: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise TypeError(f"seed must be a whole number or a torch.Generator, got {seed!r}")
    if not 0 <= seed < 2**63:
        raise ValueError(f"seed must lie between 0 and 2**63 - 1, got {seed}")
