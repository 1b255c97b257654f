import copy

import pytest
import torch
from torch import nn

from transformer_anatomy import examine

pytestmark = pytest.mark.usefixtures("unchecked")


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        (lambda model: model(torch.ones(2, 4)), TypeError, r"loss must return a scalar.*shape \(2, 4\)"),
        (lambda model: 1.0, TypeError, "loss must return a scalar tensor, got float"),
        (lambda model: torch.ones(()), ValueError, "it carries no gradient"),
        (lambda model: model(torch.ones(2, 4)).mean().detach(), ValueError, "it carries no gradient"),
        (torch.ones(()), TypeError, "loss must be a function that takes the model, got Tensor"),
    ],
)
def test_a_loss_is_a_function_of_the_model_with_a_gradient(loss, error, message):
    with pytest.raises(error, match=message):
        examine(nn.Linear(4, 4), loss)


def test_the_loss_leaves_the_backward_pass_to_examine():
    def loss(model):
        value = model(torch.ones(2, 4)).mean()
        value.backward()
        return value

    model = nn.Linear(4, 4)
    with pytest.raises(ValueError, match="loss must not call backward"):
        examine(model, loss)
    assert model.weight.grad is None


def test_a_model_is_a_module_that_holds_numbers_and_is_not_compiled():
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"):
        examine(lambda x: x, lambda model: model(1))
    compiled = torch.compile(nn.Linear(4, 4), backend="eager")
    inside = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    inside[1].compile(backend="eager")
    for model, message in [
        (compiled, "must not be compiled or scripted, it is"),
        (inside, "its part '1' is: examine the model that was compiled"),
        (nn.Linear(4, 4, device="meta"), "model must hold numbers, its 'weight' has none yet: meta"),
        (nn.LazyLinear(4), "model must hold numbers, its 'weight' has none yet: lazy"),
    ]:
        with pytest.raises(ValueError, match=message):
            examine(model, lambda model: model(torch.ones(2, 4)).mean())


def test_an_optimizer_is_one_of_the_model():
    model, x = nn.Linear(4, 4), torch.ones(2, 4)
    stranger = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"it holds none: make it from model\.parameters\(\)"):
        examine(model, lambda model: model(x).mean(), optimizer=stranger)
    with pytest.raises(TypeError, match=r"optimizer must be a torch\.optim\.Optimizer or several.*got float"):
        examine(model, lambda model: model(x).mean(), optimizer=0.1)
