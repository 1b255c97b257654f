"""One step of one optimiser or of several."""

import pytest
import torch
from torch import nn

from tests.instruments.health.models import LanguageModel, TorchModel, prediction_loss
from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


def two(model, rates=(1e-3, 1e-2)):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() < 2]
    return [torch.optim.AdamW(matrices, lr=rates[0]), torch.optim.SGD(others, lr=rates[1])]


@pytest.mark.parametrize("kind", [list, tuple])
def test_several_optimizers_step_together(kind):
    model, loss = LanguageModel(), prediction_loss()
    report = examine(model, loss, optimizer=kind(two(model)))
    assert report.healthy
    alone = examine(model, loss, optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3))
    assert report.stacks[0][0].update == pytest.approx(alone.stacks[0][0].update)


def test_what_none_of_several_holds_is_named():
    model = LanguageModel()
    optimizers = two(model)
    left_out = model.encoder.layers[2].feedforward.output_projection.weight
    optimizers[0].param_groups[0]["params"] = [p for p in optimizers[0].param_groups[0]["params"] if p is not left_out]
    (finding,) = examine(model, prediction_loss(), optimizer=optimizers).findings
    assert finding.where == "encoder.layers.2.feedforward.output_projection.weight"
    assert finding.evidence.endswith("after one step: none of the optimizers holds it")


def test_an_optimizer_that_needs_several_gradients_is_refused_by_name():
    model = nn.Linear(4, 4)
    with pytest.raises(ValueError, match="optimizer must step on one gradient, LBFGS computes the loss several times"):
        examine(model, lambda m: m(torch.ones(2, 4)).mean(), optimizer=torch.optim.LBFGS(model.parameters()))


def test_a_warm_up_that_starts_at_0_is_a_note():
    model = TorchModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: step / 100)
    report = examine(model, prediction_loss(), optimizer=optimizer)
    assert report.healthy and "is 0 at this step of its schedule" in report.notes[0]
