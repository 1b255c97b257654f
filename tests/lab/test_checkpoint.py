import copy
import json
import os
import random
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn

from tests.lab import reversal
from tests.lab.reversal import assert_same, train, weights
from transformer_anatomy import fit, load_weights

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of steps: shapes are checked elsewhere

TRIED = 2  # Before the first step the first batch is made twice, to see whether it is the same.

momentum = partial(torch.optim.SGD, momentum=0.9)


def stopped_at(step, how=signal.SIGINT):
    """Batches that send this process a signal while `step` is under way, the first time."""
    waiting = iter(range(1000))

    def batches(generator):
        if next(waiting) == TRIED + step:
            os.kill(os.getpid(), how)
        return reversal.batches(generator)

    return batches


def contents(path):
    """Everything in a checkpoint: weights, optimiser and history, and what it says about itself."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "one.safetensors"


class TestContinuing:
    @pytest.mark.parametrize("step", [6, 9])
    @pytest.mark.parametrize(
        ("choices", "settings"),
        [
            ({}, {}),
            ({"dtype": torch.float64}, {"optimizer": momentum}),
            ({"tie_weights": False, "positions": "learned"}, {"optimizer": torch.optim.SGD, "evaluate": None}),
        ],
    )
    def test_a_run_that_ctrl_c_stopped_goes_on_as_if_it_had_not(self, path, tmp_path, choices, settings, step):
        through, whole = reversal.model(**choices), tmp_path / "whole.safetensors"
        expected = train(through, checkpoint=whole, **settings)
        stopped = reversal.model(**choices)
        with pytest.raises(KeyboardInterrupt, match=rf"after step {step}; the same call goes on from .*one\.safetens"):
            train(stopped, batches=stopped_at(step), checkpoint=path, **settings)
        # In another session the model is made anew, in the same one it stands where the run was stopped.
        continued = reversal.model(**choices) if step == 6 else stopped
        history = train(continued, checkpoint=path, **settings)
        assert history.equals(expected)
        assert_same(weights(continued), weights(through))
        (ours, about), (theirs, about_theirs) = contents(path), contents(whole)
        assert_same(ours, theirs)
        assert about == about_theirs

    def test_a_run_that_was_killed_goes_on_from_its_last_evaluation(self, path):
        code = (
            "import signal; from tests.lab import reversal; from tests.lab.test_checkpoint import stopped_at; "
            f"reversal.train(reversal.model(), batches=stopped_at(8, signal.SIGKILL), checkpoint={str(path)!r})"
        )
        killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (killed.returncode, killed.stdout, killed.stderr) == (-signal.SIGKILL, "", "")
        through, continued = reversal.model(), reversal.model()
        expected = train(through)
        waiting = iter(range(1000))

        def counted(generator):
            next(waiting)
            return reversal.batches(generator)

        assert train(continued, batches=counted, checkpoint=path).equals(expected)
        assert next(waiting) == TRIED + 1 + 12 - 5  # and the first loss is computed again
        assert_same(weights(continued), weights(through))

    def test_a_run_that_is_done_is_read_and_not_run_again(self, path):
        def first(generator):
            assert next(waiting) < TRIED + 1
            return reversal.batches(generator)

        waiting = iter(range(1000))
        model, again = reversal.model(), reversal.model()
        expected = train(model, checkpoint=path)
        assert train(again, checkpoint=str(path), batches=first).equals(expected)
        assert_same(weights(again), weights(model))

    def test_a_model_with_another_start_is_given_the_weights_of_the_file_first(self, path):
        through = reversal.model()
        expected = train(through, checkpoint=path)
        other = reversal.model(seed=8)
        load_weights(path, other)
        assert_same(weights(other), weights(through))
        assert train(other, checkpoint=path).equals(expected)

    def test_looking_whether_it_is_the_same_run_changes_nothing(self, path):
        def model():
            torch.manual_seed(0)
            return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))

        def run(model, batches=lambda generator: torch.randn(8, 2, generator=generator), **choices):
            return fit(model, batches, lambda model, x: model(x).square().mean(), n_steps=4, **choices)

        def stopping(generator):
            if next(waiting) == TRIED + 2:
                os.kill(os.getpid(), signal.SIGINT)
            return torch.randn(8, 2, generator=generator)

        waiting = iter(range(1000))
        through, continued = model(), model()
        expected = run(through)
        with pytest.raises(KeyboardInterrupt):
            run(model(), stopping, checkpoint=path)
        assert run(continued, checkpoint=path).equals(expected)
        assert_same(weights(continued), weights(through))

    @pytest.mark.parametrize(
        "draw",
        [torch.rand, np.random.rand, lambda n: [random.random() for _ in range(n)]],
        ids=["torch", "np", "python"],
    )
    def test_random_numbers_that_are_not_drawn_from_the_generator_are_the_same_again(self, path, draw):
        def batches(generator):
            return torch.as_tensor(draw(3)).float()[:, None]

        def run(model, **choices):
            return fit(model, batches, noisy, n_steps=5, evaluate_every=2, **choices)

        def noisy(model, x):
            if stop.pop() if stop else False:
                os.kill(os.getpid(), signal.SIGINT)
            return (model(x) + float(torch.as_tensor(draw(1)))).square().mean()

        stop = []
        torch.manual_seed(0)
        through, stopped = nn.Linear(1, 1), nn.Linear(1, 1)
        stopped.load_state_dict(through.state_dict())
        expected = run(through)
        assert expected.loss.nunique() == 5
        stop = [True, False, False]  # popped from the end
        with pytest.raises(KeyboardInterrupt):
            run(stopped, checkpoint=path)
        draw(7)  # what was drawn elsewhere does not matter
        assert run(stopped, checkpoint=path).equals(expected)

    def test_the_file_is_a_safetensors_file_with_the_weights_under_their_names(self, path):
        model = reversal.model()
        train(model, checkpoint=path)
        tensors, about = contents(path)
        saved = {name.removeprefix("model."): tensor for name, tensor in tensors.items() if name.startswith("model.")}
        assert_same(saved, {name: p.detach() for name, p in model.named_parameters()})
        assert json.loads(about["settings"])["optimizer"] == "AdamW"
        assert [file.name for file in path.parent.iterdir()] == [path.name]


class TestRefused:
    @pytest.mark.parametrize(
        ("choices", "settings", "message"),
        [
            ({}, {"seed": 1}, "of another run: seed = 0 there, 1 here; delete it or name another"),
            ({}, {"n_steps": 20}, "of another run: n_steps = 12 there, 20 here"),
            ({}, {"optimizer": partial(torch.optim.AdamW, weight_decay=0.5)}, "weight_decay = 0.01 there, 0.5 here"),
            ({}, {"optimizer": torch.optim.SGD}, "optimizer = 'AdamW' there, 'SGD' here"),
            (
                {"n_layers": 2},
                {},
                r"of another model: decoder.layers.1.* and \d+ more differ",
            ),
            ({"d_feedforward": 8}, {}, "of another model: .*feedforward.hidden_projection.bias"),
            ({"dtype": torch.float64}, {}, "of another model: .* differ"),
        ],
    )
    def test_a_checkpoint_of_another_run_or_model_says_what_differs(self, path, choices, settings, message):
        train(reversal.model(), checkpoint=path)
        self.assert_refused(path, reversal.model(**choices), message, **settings)

    def test_a_checkpoint_of_a_run_with_other_frozen_parameters(self, path):
        train(reversal.model(), checkpoint=path)
        model = reversal.model()
        model.decoder.final_norm.requires_grad_(False)
        self.assert_refused(path, model, r"frozen = \[\] there, \['decoder.final_norm.weight', .* here")

    def test_a_checkpoint_of_another_start(self, path):
        train(reversal.model(), checkpoint=path)
        message = r"of a run that began with other weights; seed PyTorch as then .* load_weights\(path, model\)"
        self.assert_refused(path, reversal.model(seed=1), message)

    def test_a_checkpoint_of_other_data(self, path):
        train(reversal.model(), checkpoint=path)
        other = partial(reversal.batches, n=4)
        self.assert_refused(path, reversal.model(), "of a run on other data: its first batch differs", batches=other)

        def turned(generator):
            source, target = reversal.batches(generator)
            return source.flip(1), target

        self.assert_refused(path, reversal.model(), "of a run on other data", batches=turned)

    def test_a_checkpoint_of_another_loss_or_evaluation(self, path):
        def other(*_):
            raise AssertionError

        train(reversal.model(), checkpoint=path)
        other_loss = r"loss = 'loss' there, '.*other' here"
        self.assert_refused(path, reversal.model(), other_loss, loss=other)
        self.assert_refused(path, reversal.model(), r"evaluate = 'evaluate' there, '.*other'", evaluate=other)
        self.assert_refused(path, reversal.model(), "evaluate = 'evaluate' there, None here", evaluate=None)

    def test_a_checkpoint_of_a_loss_or_a_model_that_computes_otherwise_under_the_same_name(self, path):
        train(reversal.model(), checkpoint=path)
        message = r"with another loss, or with a model that computes otherwise: its first loss was 2\.\d+, here it is"

        def halved():
            def loss(model, batch):
                return reversal.loss(model, batch) / 2

            loss.__qualname__ = "loss"
            return loss

        self.assert_refused(path, reversal.model(), message, loss=halved())
        self.assert_refused(path, reversal.model(n_heads=4), message)  # the same tensors

    def test_a_refusal_leaves_the_statistics_of_a_norm_as_they_were(self, path):
        def run(model):
            x = torch.arange(8.0).view(4, 2)
            return fit(model, lambda _: x, lambda model, x: model(x).square().mean(), n_steps=2, checkpoint=path)

        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        other = nn.Sequential(*model[:2], nn.Linear(4, 1), nn.Tanh())
        other[2].load_state_dict(model[2].state_dict())
        other = copy.deepcopy(other)
        run(model)
        before = weights(other)
        with pytest.raises(ValueError, match="with a model that computes otherwise"):
            run(other)
        assert_same(weights(other), before)

    def test_batches_that_go_through_a_list_cannot_be_continued(self, path):
        rows = iter(torch.arange(8.0).view(4, 2, 1).repeat(10, 1, 1))
        with pytest.raises(ValueError, match=r"batches must give the same batch again for a generator in the same st"):
            fit(nn.Linear(1, 1), lambda _: next(rows), lambda m, x: m(x).mean(), n_steps=2, checkpoint=path)
        assert not path.exists()
        history = fit(nn.Linear(1, 1), lambda _: next(rows), lambda m, x: m(x).square().mean(), n_steps=2)
        assert len(history) == 2  # without a checkpoint they may

    def test_weights_of_another_model_or_file(self, path, tmp_path):
        train(reversal.model(), checkpoint=path)
        other = reversal.model(n_layers=2)
        before = weights(other)
        with pytest.raises(ValueError, match=r"of another model: decoder.layers.1.* differ"):
            load_weights(path, other)
        assert_same(weights(other), before)
        with pytest.raises(FileNotFoundError):
            load_weights(tmp_path / "nowhere.safetensors", other)

    def test_a_truncated_file(self, path):
        train(reversal.model(), checkpoint=path)
        path.write_bytes(path.read_bytes()[:-100])
        self.assert_refused(path, reversal.model(), "is damaged or no safetensors file")

    def test_a_file_of_something_else(self, path):
        path.parent.mkdir()
        path.write_text("not a checkpoint, but long enough to look at")
        self.assert_refused(path, reversal.model(), "is damaged or no safetensors file")
        save_file({"weight": torch.ones(2)}, path)
        self.assert_refused(path, reversal.model(), "was not written by fit; name another file")

    def assert_refused(self, path, model, message, **settings):
        before, content = weights(model), path.read_bytes()
        with pytest.raises(ValueError, match=message):
            train(model, checkpoint=path, **settings)
        assert_same(weights(model), before)
        assert path.read_bytes() == content
