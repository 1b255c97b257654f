"""What `fit` is given, and in what state it leaves what it was given."""

import math

import pytest
import torch
from torch import nn

from tests.lab import reversal
from tests.lab.reversal import assert_same, train, weights
from transformer_anatomy import fit

pytestmark = pytest.mark.usefixtures("unchecked")


class TestEvaluation:
    def test_it_sees_the_model_in_evaluation_mode_and_without_gradients(self):
        def evaluate(model):
            assert not torch.is_grad_enabled()
            seen.append([module.training for module in model.modules()])
            return {"figure": 0}

        seen = []
        train(reversal.model(), evaluate=evaluate, loss=in_training)
        assert len(seen) == 3
        assert not any(any(modes) for modes in seen)

    def test_it_changes_nothing(self):
        plain, watched = reversal.model(), reversal.model()
        expected = train(plain, evaluate=None)
        history = train(watched, evaluate=lambda model: {"draw": torch.rand(3).sum()}, evaluate_every=1)
        assert history.drop(columns="draw").equals(expected)
        assert_same(weights(watched), weights(plain))

    @pytest.mark.parametrize("fails", [False, True])
    def test_every_module_is_afterwards_in_the_mode_it_was_in(self, fails):
        model = reversal.model().eval()
        model.decoder.train()
        before = [module.training for module in model.modules()]
        if fails:
            with pytest.raises(ZeroDivisionError):
                train(model, evaluate=lambda model: 1 / 0)
        else:
            train(model)
        assert [module.training for module in model.modules()] == before

    @pytest.mark.parametrize(
        ("errors", "n_steps"),
        [
            ([5, 4, 3, 2, 1, 0, 0, 0], 8),
            ([5, 4, 4, 4, 3], 4),
            ([5, 6, 4, 5, 4.5], 5),
            ([math.nan, math.nan, math.nan], 3),
            ([5, math.nan, math.nan], 3),
        ],
    )
    def test_a_run_stops_once_its_first_figure_has_not_improved_for_too_long(self, errors, n_steps):
        figures = iter(errors)
        history = train(
            reversal.model(),
            n_steps=8,
            evaluate=lambda model: {"error": next(figures), "better_when_higher": 1},
            evaluate_every=1,
            patience=2,
        )
        assert len(history) == n_steps


def in_training(model, batch):
    assert all(module.training for module in model.modules())
    return reversal.loss(model, batch)


def test_a_function_that_raises_leaves_the_model_as_it_was():
    model = reversal.model()
    before = weights(model)
    for broken in ({"batches": lambda _: 1 / 0}, {"loss": lambda model, batch: 1 / 0}):
        with pytest.raises(ZeroDivisionError):
            train(model, **broken)
    assert_same(weights(model), before)


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        ({"n_steps": 0}, ValueError, "n_steps must be a whole number of at least 1, got 0"),
        ({"evaluate_every": 0}, ValueError, "evaluate_every must be a whole number"),
        ({"seed": -1}, ValueError, "seed must be a whole number of at least 0, got -1"),
        ({"learning_rate": math.nan}, ValueError, "learning_rate must be a finite number above 0, got nan"),
        ({"clip": 0}, ValueError, "clip must be a finite number above 0, got 0"),
        ({"decay": "sine"}, ValueError, "decay must be one of"),
        ({"patience": 3, "evaluate": None}, ValueError, "patience needs an evaluate function"),
        ({"batches": [1, 2]}, TypeError, "batches must be a function, got list"),
        ({"evaluate": 0.5}, TypeError, "evaluate must be a function, got float"),
        ({"evaluate": lambda model: 0.5}, TypeError, r"evaluate must return figures by name, such as .*, got 0\.5"),
        ({"evaluate": lambda model: {"loss": 1}}, ValueError, "must not name a figure 'loss'.*'validation_loss'"),
        ({"batches": lambda g: torch.ones(0, 4)}, ValueError, "at least one sample, along the first axis; got none"),
        ({"batches": lambda g: None}, ValueError, "batches must return tensors with at least one sample"),
        ({"loss": lambda model, batch: 1.0}, TypeError, "loss must return a scalar tensor, got float"),
        ({"loss": lambda model, batch: torch.ones(3)}, TypeError, r"scalar tensor, got a tensor of shape \(3,\)"),
        ({"loss": lambda model, batch: torch.ones(())}, ValueError, "loss must depend on parameters that require"),
    ],
)
def test_what_makes_no_run_is_refused_by_name(choices, error, message):
    model = reversal.model()
    before = weights(model)
    with pytest.raises(error, match=message):
        train(model, evaluate_every=choices.pop("evaluate_every", 1), **choices)
    if "evaluate" not in choices:
        assert_same(weights(model), before)


def test_a_model_without_anything_to_train_is_refused():
    for model in (nn.ReLU(), reversal.model().requires_grad_(False)):
        with pytest.raises(ValueError, match="model has no parameter that requires a gradient"):
            train(model)


def test_a_loss_of_another_model_is_refused():
    other = reversal.model()
    with pytest.raises(ValueError, match="no gradient arrived at any of them"):
        fit(reversal.model(), reversal.batches, lambda model, batch: reversal.loss(other, batch), n_steps=1)
