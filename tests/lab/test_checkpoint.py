import json
import os
import signal
import subprocess
import sys
from functools import partial

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.lab import reversal
from tests.lab.reversal import assert_same, train, weights

pytestmark = pytest.mark.usefixtures("unchecked")  # hundreds of steps: shapes are checked elsewhere

momentum = partial(torch.optim.SGD, momentum=0.9)


def stopped_at(step, how=signal.SIGINT):
    """Batches that send this process a signal while `step` is under way, the first time."""
    waiting = iter(range(1000))

    def batches(generator):
        if next(waiting) == step:
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
        continued = reversal.model(seed=8, **choices)  # its own weights do not matter
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
        through, continued = reversal.model(), reversal.model(seed=8)
        expected = train(through)
        waiting = iter(range(1000))

        def counted(generator):
            next(waiting)
            return reversal.batches(generator)

        assert train(continued, batches=counted, checkpoint=path).equals(expected)
        assert next(waiting) == 12 - 5
        assert_same(weights(continued), weights(through))

    def test_a_run_that_is_done_is_read_and_not_run_again(self, path):
        model, again = reversal.model(), reversal.model(seed=8)
        expected = train(model, checkpoint=path)
        assert train(again, checkpoint=str(path), batches=lambda _: 1 / 0).equals(expected)
        assert_same(weights(again), weights(model))

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
