"""Sharp attention that works is no fault; sharp attention that means nothing is one."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.instruments.health.models import LanguageModel, TorchModel, prediction_loss
from transformer_anatomy import PATIENTS, examine
from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.look import looked

pytestmark = pytest.mark.usefixtures("unchecked")


class Chooser(nn.Module):
    """One attention that chooses a key by its position; `learned` values make that choice right, wrong or of no use."""

    def __init__(self, offset, scale, fused=True):
        super().__init__()
        self.scores = nn.Parameter(scale * torch.eye(12).roll(offset, dims=1))
        self.values, self.fused = nn.Embedding(12, 12), fused
        self.values.weight.data = 5 * torch.eye(12)

    def forward(self, ids):
        values = self.values(ids)[:, None]
        if self.fused:
            return F.scaled_dot_product_attention(
                self.scores.expand(len(ids), 1, 12, 12), torch.eye(12).expand(len(ids), 1, 12, 12), values, scale=1.0
            )
        return self.scores.expand(len(ids), 1, 12, 12).softmax(dim=-1) @ values


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("scale", [8.0, 60.0])
def test_a_right_choice_is_worth_1_and_a_wrong_one_less_than_nothing(fused, scale):
    ids = torch.stack([torch.randperm(12) for _ in range(32)])

    def worth(offset):
        with looked(
            Chooser(offset, scale, fused),
            lambda m: F.cross_entropy(m(ids)[:, 0].flatten(0, 1), ids.roll(1, 1).flatten()),
            [],
        ) as look:
            return look.seen.worth("")

    assert worth(-1) > 0.95 and worth(3) < -0.95


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_head_that_has_learned_the_token_before_is_no_fault(norm):
    model = LanguageModel(n_layers=2, d_model=32, n_heads=1, norm=norm)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    def loss(model):
        ids = torch.randint(0, 20, (16, 12))
        return F.cross_entropy(model(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())

    for step in range(450):
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1.0, (step + 1) / 50)
        optimizer.zero_grad()
        loss(model).backward()
        optimizer.step()
    assert examine(model, loss, optimizer=optimizer).healthy
    with looked(model, loss, []) as look:
        sharp = [path for path, figures in look.seen.maps.items() if figures.entropy < at.SATURATED_ENTROPY]
        assert sharp and max(look.seen.worth(path) for path in sharp) > at.WORKING_CHOICES


@pytest.mark.parametrize("name", ["no 1/√d_head", "W_Q = W_K = 10·I"])
@pytest.mark.parametrize("sizes", [{"d_model": 48, "n_heads": 3}, {"norm": "pre"}, {"n_layers": 2}])
def test_choices_that_mean_nothing_are_worth_nothing(name, sizes):
    case = PATIENTS[name].make(**sizes)
    with looked(case.model, case.loss, []) as look:
        worths = [look.seen.worth(path) for path in look.seen.maps if look.seen.worth(path) is not None]
    assert worths and max(map(abs, worths)) < at.WORKING_CHOICES


def test_a_frozen_layer_has_nothing_to_learn():
    model = TorchModel()
    for layer in model.encoder.layers:
        layer.self_attn.in_proj_weight.data[:128] = 10 * torch.eye(64).repeat(2, 1)
    assert examine(model, prediction_loss()).findings[0].fault == "saturated"
    model.encoder.requires_grad_(False)
    assert examine(model, prediction_loss()).healthy


def test_attention_without_layers_is_judged_too():
    attention, x = nn.MultiheadAttention(32, 1, batch_first=True), torch.randn(8, 12, 32)
    attention.in_proj_weight.data[:64] = 10 * torch.eye(32).repeat(2, 1)
    (finding,) = examine(attention, lambda model: (model(x, x, x)[0] - torch.randn(8, 12, 32)).square().mean()).findings
    assert (finding.fault, finding.where) == ("saturated", "")
