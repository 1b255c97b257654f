"""Random numbers that depend on nothing but a seed and the number of a step."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def step_seeds(seed: int, step: int, n: int) -> list[int]:
    """`n` seeds of 32 bits for one step, unrelated to each other and to those of other steps and other seeds."""
    return np.random.SeedSequence([seed, step]).generate_state(n).tolist()


@contextmanager
def random_state_kept(device: torch.device) -> Iterator[None]:
    """Afterwards PyTorch's random state is what it was, on the CPU and on a CUDA `device`."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def seed_device(device: torch.device, seed: int) -> None:
    """Seed what is drawn on the CPU and on `device`, and no other device, as `torch.manual_seed` would."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)
