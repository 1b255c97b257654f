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

    @pytest.mark.parametrize(
        ("choices", "n_steps"),
        [
            ({}, 4),
            ({"better": "lower"}, 4),
            ({"watch": "error"}, 4),
            ({"watch": "right", "better": "higher"}, 6),
            ({"watch": "right"}, 3),
            ({"watch": "loss"}, 8),
        ],
    )
    def test_which_figure_it_is_and_what_is_better_can_be_said(self, choices, n_steps):
        error, right, loss = iter([2, 1, 1, 1, 1, 1, 1, 1]), iter([1, 2, 3, 4, 4, 4, 4, 4]), iter(range(8, 0, -1))
        history = train(
            reversal.model(),
            n_steps=8,
            evaluate=lambda model: {"error": next(error), "right": next(right), "loss": next(loss)},
            evaluate_every=1,
            patience=2,
            **choices,
        )
        assert len(history) == n_steps

    def test_a_figure_that_is_called_as_a_column_of_the_history_is_told_from_it(self):
        history = train(reversal.model(), evaluate=lambda model: {"loss": 7.0}, evaluate_every=12)
        assert list(history) == ["step", "learning_rate", "loss", "gradient_norm", "validation_loss"]
        assert history.validation_loss.iloc[-1] == 7 != history.loss.iloc[-1]


class TestModes:
    def test_what_was_frozen_in_evaluation_stays_so_in_every_step(self):
        def loss(model, batch):
            seen.append([module.training for module in model.modules()])
            return reversal.loss(model, batch)

        seen, model = [], reversal.model().train()
        model.encoder.eval()
        expected = [module.training for module in model.modules()]
        one = reversal.batches(torch.Generator())
        train(model, loss=loss, evaluate=lambda model: {"error": loss(model, one)}, evaluate_every=2)
        assert len(seen) > 12 and True in expected and False in expected
        steps = [modes for modes in seen if any(modes)]
        assert len(steps) == 12 and all(modes == expected for modes in steps)

    def test_a_frozen_norm_keeps_its_statistics(self):
        norm = nn.BatchNorm1d(2)
        model = nn.Sequential(norm, nn.Linear(2, 1)).train()
        norm.eval()
        fit(model, lambda g: torch.randn(8, 2, generator=g) + 5, lambda m, x: m(x).square().mean(), n_steps=3)
        assert norm.num_batches_tracked == 0 and not norm.training and model.training


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
        (
            {"evaluate": lambda model: {"loss": 1, "validation_loss": 2}},
            ValueError,
            "evaluate must not give two figures one name, got 'loss', 'validation_loss'",
        ),
        ({"evaluate": lambda model: {1: 0.5}}, TypeError, "evaluate must name its figures by words, got 1"),
        ({"evaluate": lambda model: {"x": [1]}}, TypeError, r"a number for each name, got x = \[1\]"),
        (
            {"patience": 3, "watch": "acuracy"},
            ValueError,
            "watch must be one of 'validation', as evaluate gives, got .acuracy'",
        ),
        ({"patience": 3, "better": "more"}, ValueError, "better must be one of 'lower', 'higher', got 'more'"),
        ({"better": "higher"}, ValueError, "watch and better say what patience waits for: give patience, too"),
        (
            {"patience": 3, "evaluate": lambda model: {"accuracy": 0.5}},
            ValueError,
            "better must say what is better of 'accuracy', which patience watches",
        ),
        ({"warmup": 13}, ValueError, "warmup must be at most n_steps = 12, got 13"),
        ({"optimizer": torch.optim.SGD([torch.ones(1)])}, TypeError, "optimizer must be a function, got SGD; it takes"),
        ({"optimizer": torch.optim.LBFGS}, ValueError, "a step from gradients alone; LBFGS computes the loss several"),
        ({"optimizer": lambda parameters, lr: None}, TypeError, "return a torch.optim.Optimizer, got NoneType"),
        ({"loss": nn.CrossEntropyLoss()}, TypeError, r"loss must take .*lambda model, batch: CrossEntropyLoss\(model"),
        ({"loss": nn.functional.cross_entropy}, TypeError, "loss must take the model and a batch, got cross_entropy"),
        ({"batches": lambda g: next(iter(()))}, ValueError, "a batch for every step, at step 0 there was no other"),
        ({"checkpoint": "."}, ValueError, "checkpoint must be a file, got the folder"),
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
    if not {"evaluate", "watch"} & choices.keys():  # else a step was made before
        assert_same(weights(model), before)


def test_a_model_without_anything_to_train_is_refused():
    for model in (nn.ReLU(), reversal.model().requires_grad_(False)):
        with pytest.raises(ValueError, match="model has no parameter that requires a gradient"):
            train(model)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got list"):
        train(list(reversal.model().parameters()))


def test_a_checkpoint_that_cannot_be_written_is_refused_before_the_first_step(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        train(reversal.model(), loss=lambda model, batch: 1 / 0, checkpoint=tmp_path / "file" / "run.safetensors")


def test_a_loss_of_another_model_is_refused():
    other = reversal.model()
    with pytest.raises(ValueError, match="no gradient arrived at any of them"):
        fit(reversal.model(), reversal.batches, lambda model, batch: reversal.loss(other, batch), n_steps=1)
