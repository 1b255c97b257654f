import random

import numpy as np
import torch

from transformer_anatomy.lab.randomness import random_state_kept, seed_everything, step_seeds

CPU = torch.device("cpu")


def draw():
    return torch.rand(1).item(), np.random.rand(), random.random()


def test_seeds_differ_between_steps_and_runs_and_more_of_them_leave_the_first_ones_as_they_are():
    assert step_seeds(0, 1, 3)[:2] == step_seeds(0, 1, 2)
    several = [step_seeds(seed, step, 2) for seed in range(3) for step in range(20)]
    assert len({number for seeds in several for number in seeds}) == 2 * 60


def test_a_seed_decides_what_pytorch_numpy_and_python_draw():
    with random_state_kept():
        seed_everything(3, CPU)
        drawn = draw()
        seed_everything(3, CPU)
        assert draw() == drawn
        seed_everything(4, CPU)
        assert not set(draw()) & set(drawn)


def test_afterwards_every_random_state_is_what_it_was_even_after_an_error():
    seed_everything(3, CPU)
    expected = draw()
    seed_everything(3, CPU)
    try:
        with random_state_kept(CPU):
            seed_everything(5, CPU)
            raise ZeroDivisionError
    except ZeroDivisionError:
        assert draw() == expected


def test_on_mps_its_state_is_kept_and_seeded(monkeypatch):
    """What is asked of MPS, without it."""
    asked = []
    monkeypatch.setattr(torch.mps, "get_rng_state", lambda: "state")
    monkeypatch.setattr(torch.mps, "set_rng_state", lambda state: asked.append(("restored", state)))
    monkeypatch.setattr(torch.mps, "manual_seed", lambda seed: asked.append(("seeded", seed)))
    with random_state_kept(torch.device("mps")):
        seed_everything(7, torch.device("mps"))
    assert asked == [("seeded", 7), ("restored", "state")]
