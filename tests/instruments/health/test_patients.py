from fnmatch import fnmatchcase

import pytest
import torch
import torch.nn.functional as F

from tests.instruments.health.healthy import HEALTHY
from tests.instruments.health.models import LanguageModel, TorchModel, prediction_loss, tokens
from transformer_anatomy import PATIENTS, examine
from transformer_anatomy.lab.patients import scale_weights

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of passes, whose shapes other tests check


@pytest.mark.parametrize("sizes", [{}, {"d_model": 32, "n_heads": 2}], ids=["width 64", "width 32"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", PATIENTS)
def test_the_fault_is_named_first_and_found_where_it_is(name, seed, sizes):
    torch.manual_seed(seed)
    make, fault, where = PATIENTS[name]
    patient = make(**sizes)
    report = examine(patient.model, patient.loss, optimizer=patient.optimizer)
    first = report.findings[0]
    assert (first.fault, True) == (fault, fnmatchcase(first.where, where)), first
    assert any(character.isdigit() for character in first.evidence) and not report.healthy
    assert report.verdict.partition(": ")[2].startswith(f"{fault} at {first.where}: ")


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_model_raises_no_alarm(name, seed):
    torch.manual_seed(seed)
    model, loss, optimizer = HEALTHY[name]()
    report = examine(model, loss, optimizer=optimizer)
    assert report.healthy and report.findings == ()
    assert report.verdict.endswith(": nothing wrong found.")


def test_a_deep_layer_may_have_learned_to_be_as_sharp_as_one_without_scale():
    model = LanguageModel(n_layers=2, d_model=32, n_heads=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model):
        ids = torch.randint(0, 8, (16, 8))
        return F.cross_entropy(model(ids).flatten(0, 1), ids.flip(1).flatten())

    for _ in range(200):
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
    report = examine(model, loss, optimizer=optimizer)
    assert report.loss < 0.1 and min(layer.entropy for layer in report.stacks[0]) < 0.35
    assert report.healthy


def test_24_post_norm_layers_collapse_at_their_start():
    model, loss, _ = HEALTHY["post-norm"](n_layers=24, d_model=32)
    assert examine(model, loss).findings[0].fault == "collapsed"


def test_zeros_are_gates_and_not_faint_signals():
    model, loss, _ = HEALTHY["post-norm"](norm="pre")
    for layer in model.encoder.layers:  # each branch starts at 0, as in residual networks without warm-up
        torch.nn.init.zeros_(layer.self_attention.output_projection.weight)
        torch.nn.init.zeros_(layer.feedforward.output_projection.weight)
    assert examine(model, loss).healthy


@pytest.mark.parametrize("which", ["the head", "the last layer of a perceptron"])
def test_a_last_layer_that_starts_at_0_is_a_gate(which):
    if which == "the head":
        model, loss, _ = HEALTHY["post-norm"]()
        torch.nn.init.zeros_(model.head.weight)
    else:
        model, loss, _ = HEALTHY["perceptron"]()
        torch.nn.init.zeros_(model[-1].weight)
    assert examine(model, loss).healthy


def test_a_gradient_of_exactly_0_without_a_gate_has_vanished():
    model, loss, _ = HEALTHY["perceptron"]()
    for layer in model[:-1:2]:
        layer.weight.data.mul_(1e-12)
    assert "vanishing" in [finding.fault for finding in examine(model, loss).findings]


class TestTorchLayers:
    """The same faults in `nn.TransformerEncoder`, which packs queries, keys and values into one matrix."""

    @pytest.mark.parametrize("norm_first", [True, False])
    @pytest.mark.parametrize(("factor", "fault"), [(10, "exploding"), (0.01, "vanishing")])
    def test_weights_of_a_wrong_size(self, factor, fault, norm_first):
        model = scale_weights(TorchModel(norm_first=norm_first), factor)
        first = examine(model, prediction_loss()).findings[0]
        assert first.fault == fault and first.where.startswith("encoder.layers.")

    def test_sharp_queries_and_keys(self):
        model = TorchModel()
        for layer in model.encoder.layers:
            layer.self_attn.in_proj_weight.data[:128] = 10 * torch.eye(64).repeat(2, 1)
        assert examine(model, prediction_loss()).findings[0].fault == "saturated"

    @pytest.mark.parametrize("training", [True, False])
    def test_a_mask_of_the_opposite_polarity(self, training):
        ids, seen = tokens(), torch.ones(8, 24, dtype=torch.bool)  # True is hidden here
        first = examine(
            TorchModel().train(training), lambda model: model(ids, src_key_padding_mask=seen).mean()
        ).findings[0]
        assert (first.fault, first.where) == ("masked-out", "encoder.layers.0.self_attn")

    @pytest.mark.parametrize(
        ("rate", "why"), [(0.0, "its learning rate is 0"), (1e-10, "in float32 the step is too small to show")]
    )
    def test_a_step_too_small_to_show(self, rate, why):
        model = TorchModel()
        (finding,) = examine(model, prediction_loss(), optimizer=torch.optim.Adam(model.parameters(), lr=rate)).findings
        assert finding.fault == "update-too-small" and finding.evidence.endswith(f"after one step: {why}")

    def test_a_layer_that_the_optimizer_does_not_hold(self):
        model = TorchModel()
        held = [p for name, p in model.named_parameters() if "layers.2." not in name]
        (finding,) = examine(model, prediction_loss(), optimizer=torch.optim.Adam(held)).findings
        assert finding.fault == "update-too-small" and finding.where.startswith("encoder.layers.2.")
        assert finding.evidence.endswith("the optimizer does not hold it")
