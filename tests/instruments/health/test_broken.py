"""One search for NaN and infinities serves a report and a run of training."""

import math

import pytest
import torch
from torch import nn

from transformer_anatomy import examine
from transformer_anatomy.instruments.health.broken import BrokenOutputs, first_broken_output, what_is_wrong

pytestmark = pytest.mark.usefixtures("unchecked")


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    ("numbers", "wrong"),
    [([1.0, 3e38, 3e38], None), ([math.nan, math.inf], "NaN"), ([math.inf, 0.0], "an infinity"), ([-math.inf], "−∞")],
)
def test_what_is_wrong_has_a_name(numbers, wrong):
    assert what_is_wrong(torch.tensor(numbers)) == wrong


def test_a_mask_made_first_is_not_to_blame():
    mask = Function(lambda x: torch.full_like(x, 0.0).index_fill(1, torch.tensor([0]), -math.inf))

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.mask, self.mix, self.root = (
                mask,
                Function(lambda x: x.softmax(dim=-1)),
                Function(lambda x: (x - 1).sqrt()),
            )

        def forward(self, x):
            return self.root(self.mix(x + self.mask(x)))

    broken = first_broken_output(Masked(), lambda: None)
    assert broken is None
    model, x = Masked(), torch.randn(2, 4)
    assert first_broken_output(model, lambda: model(x)).path == "root"


def test_what_only_passes_it_on_is_not_to_blame():
    seen = BrokenOutputs()
    nan = torch.tensor([math.nan])
    seen.look("passes", (nan,), nan)
    seen.look("makes", (torch.ones(1),), {"nested": [nan]})
    assert seen.first.path == "makes"


def test_a_gradient_is_traced_to_the_module_that_breaks_it():
    root = Function(lambda x: x.abs().sqrt())
    model, x = nn.Sequential(nn.Linear(4, 4, bias=False), root, nn.Linear(4, 1)), torch.zeros(8, 4)
    (finding,) = examine(model, lambda model: model(x).sum()).findings
    assert (finding.fault, finding.where) == ("non-finite", "1")
    assert finding.evidence.startswith(
        "it is the first on the way back that makes it: the gradient of 0.weight holds NaN"
    )
    before = [p.grad for p in model.parameters()]
    assert before == [None, None, None]


def test_a_gradient_is_traced_although_dropout_falls_by_chance():
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), Function(lambda x: x.abs().sqrt()), nn.Linear(4, 1))
    x = torch.randn(8, 4)
    (finding,) = examine(model, lambda model: model(x).sum()).findings
    assert finding.where == "2"


def test_a_loss_that_can_be_computed_only_once_is_no_obstacle():
    model, batches = nn.Linear(4, 4, bias=False), iter([torch.zeros(8, 4)])
    (finding,) = examine(model, lambda model: model(next(batches)).norm(dim=-1).sqrt().sum()).findings
    assert (finding.fault, finding.where) == ("non-finite", "weight")
