"""What is stored about positions in every layer is what the script makes, and they are added where it says."""

import json
from collections import Counter

import pytest
import torch

from experiments.positions_at_every_layer import ARTEFACT, EVERY, KINDS, SEEDS, TRAINING, add_positions_again, train
from transformer_anatomy import LanguageModel, TransformerConfig, record, sinusoids

STORED = json.loads(ARTEFACT.read_text())


def test_every_run_is_stored_once():
    asked = [(norm, positions, way, seed) for norm, positions in KINDS for way in (False, True) for seed in SEEDS]
    asked += [("pre", "none", False, seed) for seed in SEEDS]
    found = Counter((run["norm"], run["positions"], run["every_layer"], run["seed"]) for run in STORED["runs"])
    assert found == Counter(asked)
    assert {len(run["curve"]) for run in STORED["runs"]} == {TRAINING["n_steps"] // EVERY}


@pytest.mark.parametrize("every_layer", [False, True])
def test_the_first_steps_of_a_run_come_out_as_stored(every_layer):
    """As far as the warm-up goes: from there on the rate depends on the number of steps."""
    again = json.loads(train("post", "sinusoidal", every_layer, 0, n_steps=102)["curve"])
    runs = [run for run in STORED["runs"] if (run["norm"], run["positions"]) == ("post", "sinusoidal")]
    stored = next(run["curve"] for run in runs if (run["every_layer"], run["seed"]) == (every_layer, 0))
    assert again[:5] == pytest.approx(stored[:5], abs=0.02)


def test_the_positions_are_added_before_each_layer_but_the_first():
    model = LanguageModel(TransformerConfig(10, 16, 2, 3, 32, norm="pre"))
    ids = torch.randint(10, (2, 7))
    with record(model, "encoder.embedded") as once:
        model(ids)
    add_positions_again(model)
    seen = []
    for layer in model.encoder.layers:
        layer.self_attention_residual.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
    with record(model, "*.stream", "encoder.embedded") as trace:
        model(ids)
    torch.testing.assert_close(trace["encoder.embedded"], once["encoder.embedded"])
    torch.testing.assert_close(seen[0], once["encoder.embedded"])
    for before, given in zip(trace.stack("*.layers.*.stream"), seen[1:], strict=False):
        torch.testing.assert_close(given - before, sinusoids(torch.arange(7), 16).expand(2, 7, 16))
