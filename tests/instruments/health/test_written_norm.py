"""A norm is known by what it does to features; a root alone is none."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


class Block(nn.Module):
    """A residual block whose stream explodes unless `before` norms what its branch reads."""

    def __init__(self, before):
        super().__init__()
        self.up, self.down, self.before = nn.Linear(32, 64), nn.Linear(64, 32), before
        for linear in (self.up, self.down):
            nn.init.xavier_uniform_(linear.weight, gain=2)

    def forward(self, x):
        return x + self.down(self.up(self.before(x)).relu())


def faults(before):
    model, x = nn.Sequential(*(Block(before) for _ in range(6))), torch.randn(8, 10, 32)
    return [finding.fault for finding in examine(model, lambda model: (model(x) - x.flip(1)).square().mean()).findings]


def root_mean_square(x):
    return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6)


def centred(x):
    x = x - x.mean(dim=-1, keepdim=True)
    return x / (x.var(dim=-1, keepdim=True) + 1e-5).sqrt()


def by_deviation(x):
    return (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + 1e-6)


NORMS = {
    "RMS norm": root_mean_square,
    "layer norm": centred,
    "standard deviation": by_deviation,
    "unit length": lambda x: 5 * F.normalize(x, dim=-1),
    "power": lambda x: x * (x.square().mean(dim=-1, keepdim=True) + 1e-6).pow(-0.5),
    "PyTorch's": lambda x: F.layer_norm(x, (32,)),
}
NOT_NORMS = {
    "nothing": lambda x: x,
    "a signed root": lambda x: x.sign() * x.abs().sqrt() * x.abs().sqrt(),
    "a constant root": lambda x: x / torch.tensor(1.0).sqrt(),
    "the root of a square": lambda x: (x.square() + 1e-6).sqrt() * x.sign(),
    "a gate from a root mean square": lambda x: x + 0 * x.square().mean(dim=-1, keepdim=True).sqrt(),
    "heads": lambda x: x + 0 * F.normalize(x.unflatten(-1, (4, 8)), dim=-1).flatten(-2),
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_that_is_written_out_is_one(name):
    assert "exploding" not in faults(NORMS[name])


@pytest.mark.parametrize("name", NOT_NORMS)
def test_a_root_is_no_norm(name):
    assert faults(NOT_NORMS[name])[0] == "exploding"
