import math
import random
from functools import partial

import numpy as np
import pytest
import torch
from torch import nn

from tests.lab import reversal
from tests.lab.reversal import assert_same, train, weights
from transformer_anatomy import fit
from transformer_anatomy.lab.schedule import learning_rate_factor

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of steps: shapes are checked elsewhere


def test_a_small_transformer_learns_to_reverse():
    model = reversal.model(1, dropout=0.0)
    history = train(model, batches=partial(reversal.batches, n=32), n_steps=100, learning_rate=0.02, warmup=10)
    assert history.loss[:5].mean() > math.log(reversal.N_SYMBOLS)  # worse than knowing nothing
    assert history.validation.iloc[-1] < 1


class TestRepetition:
    def test_the_same_seed_gives_the_same_numbers_to_the_last_digit(self):
        first, second = reversal.model(), reversal.model()
        history = train(first, seed=3)
        torch.rand(5)  # what was drawn elsewhere does not matter
        assert train(second, seed=3).equals(history)
        assert_same(weights(first), weights(second))

    def test_another_seed_gives_other_batches_and_another_dropout(self):
        one, other = (train(reversal.model(), seed=seed) for seed in (0, 1))
        assert (one.loss != other.loss).all()
        still = torch.ones(8, 4, dtype=torch.long), torch.ones(8, 5, dtype=torch.long)
        one, other = (train(reversal.model(), seed=seed, batches=lambda _: still) for seed in (0, 1))
        assert (one.loss != other.loss).all()

    def test_what_the_batch_draws_is_not_what_dropout_draws(self):
        class Drawing(nn.Linear):
            def forward(self, drawn):
                seen.append((drawn, torch.rand(len(drawn))))
                return super().forward(drawn[:, None])

        seen = []
        fit(Drawing(1, 1), lambda g: torch.rand(64, generator=g), lambda m, x: m(x).mean(), n_steps=3)
        for batch, dropout in seen:
            assert not set(batch.tolist()) & set(dropout.tolist())
        assert len({batch[0].item() for batch, _ in seen}) == len({drawn[0].item() for _, drawn in seen}) == 3

    def test_random_numbers_elsewhere_go_on_as_if_nothing_had_been_trained(self):
        def draw():
            return torch.rand(1).item(), np.random.rand(), random.random()

        def seed():
            torch.manual_seed(4)
            np.random.seed(4)
            random.seed(4)

        model = reversal.model()
        seed()
        expected = draw()
        seed()
        train(model)
        assert draw() == expected


class TestHistory:
    def test_it_has_a_row_for_each_step_and_figures_where_the_model_was_evaluated(self):
        history = train(reversal.model())
        assert list(history) == ["step", "learning_rate", "loss", "gradient_norm", "validation"]
        assert history.step.tolist() == list(range(12))
        assert history.validation.dropna().index.tolist() == [4, 9, 11]
        assert not history.drop(columns="validation").isna().any(axis=None)

    def test_without_an_evaluation_it_has_no_figures(self):
        assert list(train(reversal.model(), evaluate=None)) == ["step", "learning_rate", "loss", "gradient_norm"]

    def test_the_rate_that_it_shows_is_the_one_that_the_optimiser_used(self):
        rates = []

        class Watched(torch.optim.SGD):
            def step(self, closure=None):
                rates.append([group["lr"] for group in self.param_groups])
                return super().step(closure)

        def two_speeds(parameters, lr):
            first, *rest = parameters
            return Watched([{"params": [first], "lr": lr / 10}, {"params": rest}], lr=lr)

        history = train(reversal.model(), optimizer=two_speeds, learning_rate=0.1, warmup=3, decay="linear")
        expected = [0.1 * learning_rate_factor(step, 12, warmup=3, decay="linear") for step in range(12)]
        assert history.learning_rate.tolist() == expected
        assert [rest for _, rest in rates] == expected
        assert [first for first, _ in rates] == pytest.approx([rate / 10 for rate in expected])


class TestStep:
    def test_it_is_the_step_that_the_optimiser_takes_by_itself(self):
        def batches(_):
            return torch.arange(6.0).view(3, 2)

        def square(model, x):
            return model(x).square().mean()

        fitted, reference = nn.Linear(2, 1, dtype=torch.float32), nn.Linear(2, 1)
        reference.load_state_dict(fitted.state_dict())
        history = fit(fitted, batches, square, n_steps=4, learning_rate=0.1, decay="none", clip=0.5)
        optimizer = torch.optim.AdamW(reference.parameters(), lr=0.1)
        for row in history.itertuples():
            optimizer.zero_grad()
            loss = square(reference, batches(None))
            loss.backward()
            assert row.loss == loss.item()
            assert row.gradient_norm == nn.utils.clip_grad_norm_(reference.parameters(), 0.5).item()
            optimizer.step()
        assert_same(weights(fitted), weights(reference))

    @pytest.mark.parametrize(("clip", "moved"), [(None, 3.0), (10.0, 3.0), (0.5, 0.5)])
    def test_a_gradient_longer_than_clip_is_shortened_to_it(self, clip, moved):
        model = nn.Linear(1, 1, bias=False)
        before = model.weight.item()
        sgd = {"optimizer": torch.optim.SGD, "learning_rate": 1.0, "n_steps": 1}
        history = fit(model, lambda _: torch.tensor([[3.0]]), lambda m, x: m(x).sum(), clip=clip, **sgd)
        assert history.gradient_norm.tolist() == [3.0]
        assert before - model.weight.item() == pytest.approx(moved, rel=1e-5)

    def test_frozen_parameters_stay_even_where_an_old_gradient_lies(self):
        model = reversal.model(tie_weights=False)
        frozen = model.encoder.layers[0].self_attention.requires_grad_(False)
        for p in frozen.parameters():
            p.grad = torch.ones_like(p)
        before = weights(model)
        train(model)
        changed = {name for name, tensor in weights(model).items() if not torch.equal(tensor, before[name])}
        assert not any(name.startswith("encoder.layers.0.self_attention.") for name in changed)
        assert "encoder.layers.0.feedforward.hidden_projection.weight" in changed

    @pytest.mark.parametrize("optimizer", [torch.optim.Adam, partial(torch.optim.SGD, momentum=0.9)])
    def test_an_optimiser_is_whatever_takes_parameters_and_a_rate(self, optimizer):
        history = train(reversal.model(), optimizer=optimizer, n_steps=30, learning_rate=0.02)
        assert history.loss[-10:].mean() < history.loss[:10].mean()
