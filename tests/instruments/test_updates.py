import copy

import pytest
import torch
from torch import nn

from transformer_anatomy import update_ratios
from transformer_anatomy.instruments.updates import try_step


def pulled(model):
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    return model


def test_the_ratio_is_that_of_the_change_to_what_was_there():
    model = nn.Linear(3, 3)
    nn.init.constant_(model.weight, 2.0)
    nn.init.zeros_(model.bias)
    optimizer = torch.optim.SGD(pulled(model).parameters(), lr=0.01)
    ratios = update_ratios(model, optimizer.step)
    assert ratios == {"weight": pytest.approx(0.005)}  # a bias of 0 has no ratio
    assert (model.weight == 1.99).all()


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad, torch.optim.NAdam])
def test_a_step_that_is_tried_is_taken_back(make):
    model = pulled(nn.Linear(3, 3))
    optimizer = make(model.parameters(), lr=0.1)
    optimizer.step()
    weights, state = copy.deepcopy(model.state_dict()), copy.deepcopy(optimizer.state_dict())
    owned = {p: dict(values) for p, values in optimizer.state.items()}
    assert all(update.ratio > 0 for update in try_step(model, optimizer).values())
    for name, value in model.state_dict().items():
        assert torch.equal(value, weights[name])
    assert str(optimizer.state_dict()) == str(state)
    for p, values in optimizer.state.items():
        assert all(values[name] is value for name, value in owned[p].items())


def test_a_step_that_fails_is_taken_back_too():
    model = pulled(nn.Linear(3, 3))
    optimizer = torch.optim.LBFGS(model.parameters())
    before = model.weight.detach().clone()
    with pytest.raises(TypeError, match="closure"):
        try_step(model, optimizer)
    assert torch.equal(model.weight, before)


def test_what_is_lost_to_rounding_is_counted():
    model = nn.Linear(4, 4).bfloat16()
    nn.init.ones_(model.weight)
    optimizer = torch.optim.SGD(pulled(model).parameters(), lr=1e-4)
    assert try_step(model, optimizer)["weight"].stuck == 1
    assert try_step(model.float(), optimizer)["weight"].stuck == 0


@pytest.mark.parametrize("model", [None, torch.ones(2)])
def test_what_is_no_module_is_refused_by_name(unchecked, model):
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got"):
        update_ratios(model, print)


def test_a_step_is_a_function(unchecked):
    with pytest.raises(TypeError, match=r"step must be a function without arguments, .* got SGD"):
        update_ratios(nn.Linear(2, 2), torch.optim.SGD(nn.Linear(2, 2).parameters()))
