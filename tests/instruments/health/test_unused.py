"""What was cut off is a fault, what took no part in the loss is a note."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.instruments.health.models import LanguageModel, prediction_loss, tokens
from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


class Experts(nn.Module):
    """Two residual layers of four experts; each token goes to one of the `busy` first."""

    def __init__(self, busy=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleList(nn.Linear(16, 16) for _ in range(4)) for _ in range(2))
        self.busy = busy

    def forward(self, x):
        for experts in self.layers:
            chosen = torch.arange(len(x)) % self.busy
            x = x + sum(expert(x) * (chosen == i)[:, None] for i, expert in enumerate(experts) if (chosen == i).any())
        return x


class Parts(nn.Module):
    """An encoder with a pooler beside its states, as BERT has, and a module that nothing calls."""

    def __init__(self):
        super().__init__()
        self.encoder, self.pooler, self.forgotten = LanguageModel(n_layers=2), nn.Linear(50, 50), nn.Linear(4, 4)

    def forward(self, ids):
        states = self.encoder(ids)
        return {"states": states, "pooled": self.pooler(states[:, 0]).tanh()}


def named(report):
    return [(finding.fault, finding.where) for finding in report.findings]


def test_an_expert_without_tokens_is_noted():
    x = torch.randn(24, 16)
    report = examine(Experts(), lambda model: model(x).square().mean())
    assert report.healthy
    assert report.notes == ("layers.0.3, layers.1.3 took no part in this loss: it was not used on the way forward",)
    assert examine(Experts(busy=4), lambda model: model(x).square().mean()).notes == ()


def test_what_ran_for_nobody_and_what_nothing_called_are_noted():
    ids = tokens()
    report = examine(Parts(), lambda model: F.cross_entropy(model(ids)["states"].flatten(0, 1), ids.flatten()))
    assert report.healthy and len(report.notes) == 2
    assert report.notes[0].startswith("pooler took no part in this loss: what it computed went nowhere")
    assert report.notes[1].startswith("forgotten took no part in this loss: it was not used")
    for words in (str(report), report._repr_html_()):
        assert "pooler took no part" in words
    assert report.to_dict()["notes"] == list(report.notes)


def test_a_pooler_of_hugging_face_is_noted():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    model, ids = transformers.BertModel(transformers.BertConfig(vocab_size=50, **sizes)), tokens()
    report = examine(model, lambda model: model(ids).last_hidden_state.mean(dim=1).square().mean())
    assert report.healthy and "pooler took no part" in report.notes[0]


@pytest.mark.parametrize("what", ["encoder.embedding", "encoder.layers.0", "encoder"])
def test_what_is_detached_and_read_is_a_fault(what):
    model = LanguageModel(n_layers=2)
    model.get_submodule(what).register_forward_hook(lambda module, inputs, output: output.detach())
    assert named(examine(model, prediction_loss()))[0][0] == "unused"


def test_a_branch_that_a_layer_computes_and_drops_is_a_fault():
    class Forgetful(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.dropped = nn.Linear(16, 16), nn.Linear(16, 16)

        def forward(self, x):
            self.dropped(x).relu()
            return x + self.used(x)

    model, x = nn.Sequential(Forgetful(), Forgetful()), torch.randn(8, 16)
    report = examine(model, lambda model: model(x).square().mean())
    assert named(report) == [("unused", "0.dropped"), ("unused", "1.dropped")]


def test_a_branch_without_gradient_is_a_fault_in_a_model_without_layers():
    class Single(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                x = self.one(x)
            return self.other(x)

    x = torch.randn(8, 4)
    assert named(examine(Single(), lambda model: model(x).square().mean())) == [("unused", "one")]
