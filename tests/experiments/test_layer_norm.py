"""The table behind the chapter on normalisation can be made again: its cheapest cells, for thirty or sixty steps."""

import importlib.util
import json

import pytest
import torch

from tests.chapters import ROOT
from transformer_anatomy import LayerNorm

TABLE = json.loads((ROOT / "book" / "data" / "layer_norm.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def experiment():
    spec = importlib.util.spec_from_file_location("layer_norm_experiment", ROOT / "experiments" / "layer_norm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_table(**setting) -> dict:
    (row,) = (row for row in TABLE if all(row[name] == value for name, value in setting.items()))
    return row


def usual(**changed) -> dict:
    setting = {"norm": "post", "learning_rate": 0.002, "warmup": 50, "n_layers": 6, "start": "xavier"}
    return setting | {"residual": True, "change": "", "seed": 0} | changed


@pytest.mark.parametrize(
    "changed",
    [{"norm": "pre"}, {"learning_rate": 0.005}, {"norm": "batch", "change": "one text", "warmup": 50}],
    ids=["pre-norm learns", "post-norm is stuck", "BatchNorm reads one text at a time"],
)
def test_the_first_steps_of_a_run_are_those_of_the_table(experiment, changed):
    setting = usual(**{"warmup": 0} | changed)
    # the rate never falls, so the first steps do not depend on how many follow; a warm-up of 50 wants more than 30
    experiment.N_STEPS = (2 if setting["warmup"] else 1) * experiment.EVERY
    first = float(experiment.train(**setting)["curve"].split()[0])
    assert first == pytest.approx(in_table(**setting)["curve"][0], abs=0.03)


def test_the_table_holds_three_seeds_of_every_setting():
    names = ("norm", "learning_rate", "warmup", "n_layers", "start", "residual", "change")
    seeds = {}
    for row in TABLE:
        seeds.setdefault(tuple(row[name] for name in names), []).append(row["seed"])
    assert len(seeds) > 30
    assert all(found == [0, 1, 2] for found in seeds.values())


def test_batch_norm_takes_the_place_of_every_layer_norm_and_counts_no_padding(experiment):
    model = experiment.build("post", 2, "xavier", True, 0)
    experiment.use_batch_norm(model)
    norms = [module for module in model.modules() if isinstance(module, experiment.BatchNorm)]
    assert len(norms) == 4
    assert not any(isinstance(module, LayerNorm) for module in model.modules())
    x, words = torch.randn(2, 3, 64), torch.tensor([[True, True, True], [True, False, False]])
    norms[0].seen["words"] = words
    made = norms[0](x)
    assert made[words].mean(0).abs().max() < 1e-5
    assert torch.equal(made[~words], torch.zeros(2, 64))


def test_shaken_norms_change_what_they_make_in_training_only(experiment):
    model = experiment.build("post", 1, "xavier", True, 0)
    experiment.shake(model, 0.1, 0)
    norm, x = model.encoder.layers[0].feedforward_residual.norm, torch.randn(5, 64)
    assert not torch.allclose(norm.train()(x), norm(x))
    assert torch.allclose(norm.eval()(x), torch.nn.functional.layer_norm(x, (64,)), atol=1e-5)
