"""The learning rate over the steps of a run: a warm-up, then a decay."""

import math

from transformer_anatomy.model.arguments import check_choice, check_size


def learning_rate_factor(step: int, n_steps: int, *, warmup: int = 0, decay: str = "cosine") -> float:
    """What the learning rate is multiplied by at `step`, from 0: rising linearly over `warmup` steps, then falling.

    `decay` is "cosine" (Loshchilov and Hutter 2017), "linear" or "none"; the first two reach 0 after the last step, at
    `step = n_steps`. Raises `ValueError` for a step outside the run and for a warm-up that would not end within it.
    """
    check_size("n_steps", n_steps)
    check_size("warmup", warmup, at_least=0)
    check_choice("decay", decay, ("cosine", "linear", "none"))
    if warmup > n_steps:
        raise ValueError(f"warmup must be at most n_steps = {n_steps}, got {warmup}: the rate would never be reached")
    if not 0 <= step <= n_steps:
        raise ValueError(f"step must lie between 0 and n_steps = {n_steps}, got {step}")
    if step < warmup:
        return (step + 1) / warmup
    left = (n_steps - step) / max(1, n_steps - warmup)
    return {"cosine": (1 - math.cos(math.pi * left)) / 2, "linear": left, "none": 1.0}[decay]
