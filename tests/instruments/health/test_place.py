"""Whose neurons fire, and whose norm it is: told by what ran, however the model is written."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.instruments.health.healthy import classification_loss
from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


class Between(nn.Module):
    """Layers in a list, with the activation between them: one module for all, or a function."""

    def __init__(self, activation=None):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(4))
        self.activation = activation or F.relu
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        for layer in self.layers:
            x = self.activation(layer(x))
        return self.head(x)


def siblings(n_layers=4, width=32):
    return nn.Sequential(*(part for _ in range(n_layers) for part in (nn.Linear(width, width), nn.ReLU())))


@pytest.mark.parametrize(
    ("make", "third"),
    [(siblings, "4"), (Between, "layers.2"), (lambda: Between(nn.ReLU()), "layers.2")],
    ids=["siblings", "a function between", "one module for all"],
)
def test_neurons_belong_to_the_layer_that_made_them(make, third):
    model, loss = make(), classification_loss(torch.randn(128, 32))
    assert examine(model, loss).healthy
    with torch.no_grad():
        model.get_submodule(third).bias.fill_(-100)
    report = examine(model, loss)
    assert ("dead", third) in [(finding.fault, finding.where) for finding in report.findings]
    assert [layer.dead for layer in report.stacks[0] if layer.path == third] == [1.0]


def test_one_activation_in_two_layers_keeps_their_neurons_apart():
    activation = nn.ReLU()
    blocks = [nn.Sequential(nn.Linear(32, 32), activation, nn.Linear(32, 32), activation) for _ in range(3)]
    model, loss = nn.Sequential(*blocks), classification_loss(torch.randn(128, 32))
    blocks[1][2].bias.data.fill_(-100)
    assert examine(model, loss).stacks[0][1].dead == pytest.approx(0.5, abs=0.1)


def test_neurons_outside_all_layers_may_be_dead_too():
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Flatten(), nn.LayerNorm(32))
    nn.init.constant_(model[0].bias, -100)
    (finding,) = examine(model, classification_loss(torch.randn(128, 16))).findings
    assert (finding.fault, finding.where) == ("dead", "1")


@pytest.mark.parametrize("n_layers", [2, 6, 20])
@pytest.mark.parametrize("make", [siblings, lambda n_layers: siblings(n_layers, 128)])
def test_the_growth_of_a_perceptron_includes_its_activation(make, n_layers):
    model = make(n_layers)
    for layer in model[::2]:  # He et al. (2015): the stream keeps its size through ReLU, the linear map doubles it
        nn.init.kaiming_normal_(layer.weight)
    report = examine(model, classification_loss(torch.randn(128, model[0].in_features)))
    assert report.healthy
    growths = [layer.growth for layer in report.stacks[0][:-1]]
    assert all(0.5 < growth < 1.5 for growth in growths)
    for layer in model[::2]:
        layer.weight.data.mul_(20)
    if n_layers > 2:
        assert "exploding" in [
            finding.fault
            for finding in examine(model, lambda m: m(torch.randn(8, model[0].in_features)).mean()).findings
        ]


@pytest.mark.parametrize("convolution", [nn.Conv1d, nn.Conv2d])
def test_the_channels_of_a_convolution_are_its_neurons(convolution):
    axes = 1 if convolution is nn.Conv1d else 2
    blocks = [nn.Sequential(convolution(16, 16, 3, padding=1), nn.ReLU()) for _ in range(3)]
    pool = (nn.AdaptiveAvgPool1d if axes == 1 else nn.AdaptiveAvgPool2d)(1)
    model, x = nn.Sequential(*blocks, pool, nn.Flatten()), torch.randn(8, 16, *(axes * [12]))
    with torch.no_grad():
        blocks[1][0].bias[:8] = -100  # half of its channels
    report = examine(model, classification_loss(x))
    assert report.healthy and report.stacks[0][1].dead == 0.5
    assert all(layer.similarity is None for layer in report.stacks[0])


def test_channels_are_no_tokens_even_where_a_map_is_as_wide_as_there_are_positions():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution, self.squeeze = nn.Conv1d(16, 16, 3, padding=1), nn.Linear(16, 16)

        def forward(self, x):
            return x + self.convolution(x) * self.squeeze(x.mean(dim=-1)).sigmoid()[..., None]

    model, x = nn.Sequential(Block(), Block()), torch.randn(8, 16, 16)
    assert [layer.similarity for layer in examine(model, lambda model: model(x).square().mean()).stacks[0]] == [
        None
    ] * 2
