"""A run that breaks says at which step and where, and spoils neither weights nor checkpoint."""

import math

import pytest
import torch
from torch import Tensor, nn

from tests.lab import reversal
from tests.lab.reversal import assert_same, train, weights
from transformer_anatomy import fit

pytestmark = pytest.mark.usefixtures("unchecked")


class Root(nn.Module):
    """√|x|, which has no gradient at 0."""

    def forward(self, x: Tensor) -> Tensor:
        return x.abs().sqrt()


def regression(*modules, broken_from=math.inf, batch=None, **settings):
    """Three modules in a row; from step `broken_from` on, batches are `batch`."""
    torch.manual_seed(0)
    model = nn.Sequential(*modules)
    count = iter(range(1000))
    settings = {"n_steps": 8, "learning_rate": 0.01, "clip": None, "optimizer": torch.optim.SGD, **settings}

    def batches(generator):
        return batch if next(count) >= broken_from else torch.rand(4, 2, generator=generator) + 0.1

    return model, lambda: fit(model, batches, lambda model, x: model(x).mean(), **settings)


def assert_stops(model, run, message):
    before = weights(model)
    with pytest.raises(FloatingPointError, match=message):
        run()
    assert_same(weights(model), before)


def test_weights_that_are_not_finite_are_named():
    model = reversal.model()
    model.encoder.layers[0].feedforward.hidden_projection.weight.data[0, 0] = math.inf
    message = r"^stopped at step 0: .*; encoder.layers.0.feedforward.hidden_projection.weight holds NaN or infinity$"
    with pytest.raises(FloatingPointError, match=message):
        train(model)


def test_a_batch_with_nan_is_named_and_changes_nothing():
    batch = torch.tensor([[1.0, math.nan]])
    model, run = regression(nn.Linear(2, 3), nn.Linear(3, 1), broken_from=0, batch=batch)
    assert_stops(model, run, r"^stopped at step 0: the loss is nan; the batch holds NaN$")


def test_the_first_module_whose_output_is_not_finite_is_named():
    class Logarithm(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.log()

    model, run = regression(nn.Identity(), Logarithm(), nn.Linear(2, 1), broken_from=0, batch=torch.tensor([[1.0, -1]]))
    assert_stops(model, run, "step 0: the loss is nan; 1 is the first module whose output holds NaN or infinity")


def test_dropout_falls_again_as_it_did_when_the_fault_is_looked_for():
    class Fragile(nn.Dropout):
        def forward(self, x: Tensor) -> Tensor:
            return 1 / super().forward(x)

    for seed in range(3):
        _, run = regression(nn.Linear(2, 1), Fragile(0.1), seed=seed, n_steps=100)
        with pytest.raises(FloatingPointError, match=r"the loss is -?inf; 1 is the first module"):
            run()


def test_a_loss_that_breaks_by_itself_is_named():
    model = nn.Linear(2, 1)
    with pytest.raises(FloatingPointError, match="output of every module is finite, so it comes from the loss itself"):
        fit(model, lambda _: torch.ones(1, 2), lambda model, x: model(x).sum() / 0, n_steps=1)


def test_a_gradient_that_breaks_is_traced_to_the_module_that_makes_it():
    model, run = regression(nn.Linear(2, 3), Root(), nn.Linear(3, 1), broken_from=0, batch=torch.zeros(1, 2))
    model[0].bias.data.zero_()
    assert_stops(
        model,
        run,
        "^stopped at step 0: the loss is finite, its gradient is not; 1 is the first module on the way back",
    )


def test_a_gradient_that_the_loss_breaks_is_not_blamed_on_a_module():
    model = nn.Sequential(nn.Linear(2, 1, bias=False))
    with pytest.raises(FloatingPointError, match="its gradient is not; it comes from the loss itself"):
        fit(model, lambda _: torch.zeros(1, 2), lambda model, x: model(x).abs().sqrt().sum(), n_steps=1)


def test_a_gradient_that_breaks_behind_an_operation_in_place_is_named_by_its_parameter():
    class Shifted(Root):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) + 1

    model, run = regression(nn.Linear(2, 3), Shifted(), nn.ReLU(inplace=True), broken_from=0, batch=torch.zeros(1, 2))
    model[0].bias.data.zero_()
    assert_stops(model, run, r"its gradient is not; that of 0\.bias holds NaN")


def test_a_run_that_explodes_says_which_step_left_what():
    model, run = regression(nn.Linear(2, 2), nn.Linear(2, 1), learning_rate=3e38, decay="none")
    with pytest.raises(FloatingPointError, match=r"^stopped a.* step [01]"):
        run()
    model, run = regression(nn.Linear(2, 2), nn.Linear(2, 1), learning_rate=1e38, decay="none", n_steps=1)
    model[1].weight.data.fill_(30.0)
    with pytest.raises(FloatingPointError, match=r"^stopped after step 0: it left NaN or infinity in 0\.weight"):
        run()


def test_the_checkpoint_stays_that_of_the_last_sound_step(tmp_path):
    path = tmp_path / "run.safetensors"
    settings = {"checkpoint": path, "evaluate_every": 2}
    tried = 2  # the first batch is made twice before, to see whether it is the same
    _, run = regression(nn.Linear(2, 1), broken_from=tried + 5, batch=torch.full((1, 2), math.nan), **settings)
    with pytest.raises(FloatingPointError, match="stopped at step 5"):
        run()
    whole, run_whole = regression(nn.Linear(2, 1))
    expected = run_whole()
    again, run_again = regression(nn.Linear(2, 1), **settings)
    assert run_again().equals(expected)
    assert_same(weights(again), weights(whole))


def test_a_gradient_that_breaks_between_modules_is_located_by_the_one_that_it_reaches():
    class Between(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(2, 3, bias=False), nn.Linear(3, 1)

        def forward(self, x: Tensor) -> Tensor:
            return self.second(self.first(x).abs().sqrt())

    model, run = regression(Between(), broken_from=0, batch=torch.zeros(1, 2))
    assert_stops(model, run, r"it is NaN or infinite already where it reaches 0\.first")


def test_what_looks_for_the_fault_leaves_no_hook_behind():
    model, run = regression(nn.Linear(2, 3), Root(), nn.Linear(3, 1), broken_from=0, batch=torch.zeros(1, 2))
    model[0].bias.data.zero_()
    with pytest.raises(FloatingPointError):
        run()
    assert not any(m._forward_hooks or m._backward_hooks or m._forward_pre_hooks for m in model.modules())
