import copy

import pytest
import torch
from torch import nn

from tests.instruments.test_recording import count_hooks
from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


class Everything(nn.Module):
    """A model with all that a pass may change: dropout, buffers, hooks, gradients, a mode for each part."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout()) for _ in range(2))
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("absent", None)
        self.layers[1].eval()
        self.layers[0].register_forward_hook(lambda *_: None)
        for p in self.layers[0].parameters():
            p.grad = torch.randn_like(p)

    def forward(self, x):
        self.calls = self.calls + 1  # another tensor in the place of a buffer
        for layer in self.layers:
            x = x + layer(x)
        return x


def state(model, optimizer):
    return {
        "weights": {name: (id(p), p.detach().clone()) for name, p in model.named_parameters()},
        "gradients": {name: (id(p.grad), p.grad.clone()) for name, p in model.named_parameters() if p.grad is not None},
        "buffers": {name: (id(b), b.clone()) for name, b in model.named_buffers()},
        "modes": {name: module.training for name, module in model.named_modules()},
        "hooks": count_hooks(model),
        "random": torch.get_rng_state(),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "own": sorted(vars(optimizer)),
    }


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def faulty(model, x, where):
    if where == "before":
        raise ZeroDivisionError
    model.train()
    with torch.no_grad():
        model.layers[0][0].weight.add_(1)
    loss = model(x).square().mean()
    if where == "after":
        raise ZeroDivisionError
    if where == "inside":
        handle = model.layers[1].register_forward_pre_hook(lambda *_: 1 / 0)
        try:
            model(x)
        finally:
            handle.remove()
    return loss


@pytest.mark.parametrize("where", [None, "before", "inside", "after"])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "fresh"])
@pytest.mark.parametrize("make", [torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop])
def test_the_model_is_left_as_it_was_found(make, warm, where):
    model, x = Everything(), torch.randn(16, 8)
    optimizer = make(model.parameters(), lr=0.1)
    if warm:
        optimizer.step()
    before = state(model, optimizer)
    if where is None:
        examine(model, lambda model: faulty(model, x, where), optimizer=optimizer)
    else:
        with pytest.raises(ZeroDivisionError):
            examine(model, lambda model: faulty(model, x, where), optimizer=optimizer)
    after = state(model, optimizer)
    assert {name: same(before[name], after[name]) for name in before} == dict.fromkeys(before, True)


def test_graphs_made_before_can_still_be_followed_back():
    model, x = Everything().double(), torch.randn(16, 8).double()
    loss = model(x).square().mean()
    examine(model, lambda model: model(x).square().mean())
    loss.backward()
    assert model.layers[1][0].weight.grad is not None


def test_a_learning_rate_schedule_does_not_notice():
    model, x = Everything(), torch.randn(16, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    before = copy.deepcopy(optimizer.state_dict()), getattr(optimizer, "_opt_called", None)
    examine(model, lambda model: model(x).square().mean(), optimizer=optimizer)
    assert same(before, (optimizer.state_dict(), getattr(optimizer, "_opt_called", None)))
