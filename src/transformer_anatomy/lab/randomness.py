"""Random numbers that depend on nothing but a seed and the number of a step."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch


def step_seeds(seed: int, step: int, n: int) -> list[int]:
    """`n` seeds of 32 bits for one step, unrelated to each other and to those of other steps and other seeds."""
    return np.random.SeedSequence([seed, step]).generate_state(n).tolist()


@contextmanager
def random_state_kept(*devices: torch.device) -> Iterator[None]:
    """Afterwards the random states of Python, NumPy and PyTorch are what they were, on the CPU and on `devices`."""
    elsewhere, numbers = random.getstate(), np.random.get_state()
    on_mps = torch.mps.get_rng_state() if any(device.type == "mps" for device in devices) else None
    try:
        with torch.random.fork_rng(devices=[device for device in devices if device.type == "cuda"]):
            yield
    finally:
        random.setstate(elsewhere)
        np.random.set_state(numbers)
        if on_mps is not None:
            torch.mps.set_rng_state(on_mps)


def seed_everything(seed: int, device: torch.device) -> None:
    """Seed Python, NumPy and PyTorch on the CPU and on `device`, and no other device, as `torch.manual_seed` would."""
    random.seed(seed)
    np.random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)
