"""What is stored about depth and the residual path is what the script makes, and its control is what it says."""

import json
from collections import Counter

import pytest
import torch

from experiments.residual_depth import OUTPUT, SWEEPS, VALIDATION, hand_on, make_model, streams, train
from transformer_anatomy import distance_to_collapse

STORED = json.loads(OUTPUT.read_text())


def test_every_run_is_stored_once():
    asked = [(n, way, seed) for s in SWEEPS for n in s["n_layers"] for way in s["way"] for seed in s["seed"]]
    assert Counter((run["n_layers"], run["way"], run["seed"]) for run in STORED["runs"]) == Counter(asked)
    assert all(len(run["loss"]) == len(STORED["steps"]) for run in STORED["runs"])


@pytest.mark.parametrize("way", ["path", "no path"])
def test_the_first_steps_of_a_run_come_out_as_stored(way):
    again = train(1, way, seed=0, n_steps=50)
    stored = next(run["loss"] for run in STORED["runs"] if (run["n_layers"], run["way"], run["seed"]) == (1, way, 0))
    assert [again[str(step)] for step in (0, 25, 50)] == pytest.approx(stored[:3], abs=0.02)


def test_a_shaped_start_keeps_tokens_apart_and_an_ordinary_one_does_not():
    ordinary, shaped = (streams(make_model(6, way, seed=0))[-1] for way in ("no path", "shaped"))
    assert distance_to_collapse(ordinary, VALIDATION.mask).max() < 1e-4
    assert distance_to_collapse(shaped, VALIDATION.mask).min() > 0.3


def test_neurons_that_hand_on_copy_what_they_read():
    model = make_model(1, "no path", seed=0)
    for parameter in model.parameters():
        parameter.data.zero_()
    hand_on(model)
    x = torch.randn(2, 3, 64)
    torch.testing.assert_close(model.encoder.layers[0].feedforward(x), x)
