import math
from itertools import pairwise

import pytest

from transformer_anatomy.lab.schedule import learning_rate_factor


def factors(n_steps, **choices):
    return [learning_rate_factor(step, n_steps, **choices) for step in range(n_steps)]


def test_the_rate_rises_linearly_and_reaches_its_height_with_the_last_step_of_the_warm_up():
    assert factors(8, warmup=4, decay="none") == [0.25, 0.5, 0.75, 1, 1, 1, 1, 1]


def test_a_linear_decay_would_reach_zero_one_step_after_the_last():
    assert factors(4, decay="linear") == [1, 0.75, 0.5, 0.25]
    assert factors(6, warmup=2, decay="linear") == [0.5, 1, 1, 0.75, 0.5, 0.25]


def test_a_cosine_starts_at_its_height_is_half_way_in_the_middle_and_falls_all_the_time():
    cosine = factors(100)
    assert cosine[0] == 1
    assert cosine[50] == pytest.approx(0.5)
    assert cosine[25] == pytest.approx((1 + math.cos(math.pi / 4)) / 2)
    assert all(later < earlier for earlier, later in pairwise(cosine))
    assert 0 < cosine[-1] < 1e-3


@pytest.mark.parametrize("decay", ["cosine", "linear", "none"])
def test_a_run_as_long_as_its_warm_up_only_rises(decay):
    assert factors(4, warmup=4, decay=decay) == [0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize(("decay", "end"), [("cosine", 0), ("linear", 0), ("none", 1)])
def test_no_rate_of_a_run_is_negative(decay, end):
    for n_steps in (1, 5, 40):
        for warmup in range(n_steps):
            assert all(0 < factor <= 1 for factor in factors(n_steps, warmup=warmup, decay=decay))
            assert learning_rate_factor(n_steps, n_steps, warmup=warmup, decay=decay) == end


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"n_steps": 0}, "n_steps must be a whole number of at least 1, got 0"),
        ({"warmup": -1}, "warmup must be a whole number of at least 0, got -1"),
        ({"decay": "step"}, "decay must be one of 'cosine', 'linear', 'none', got 'step'"),
        ({"warmup": 11}, "warmup must be at most n_steps = 10, got 11"),
        ({"step": 11}, "step must lie between 0 and n_steps = 10, got 11"),
        ({"step": -1}, "step must lie between 0 and n_steps = 10, got -1"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused_by_name(choices, message):
    with pytest.raises(ValueError, match=message):
        learning_rate_factor(**{"step": 0, "n_steps": 10, **choices})
