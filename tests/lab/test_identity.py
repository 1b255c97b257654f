from functools import partial

import pytest
import torch
from torch import nn

from transformer_anatomy.lab.identity import fingerprint, name_of, same, state_of


def of(*tensors):
    return fingerprint(tensors)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.cfloat])
def test_the_same_numbers_have_the_same_fingerprint_and_others_another(dtype):
    one, other = (torch.randn(50, 20).mul(2).round().to(dtype) for _ in range(2))
    assert of(one) == of(one.clone())
    assert same(of(one), of(one))
    assert not same(of(one), of(other))
    assert not same(of(one), of(one, other))
    assert not same(of(one), of(one.flip(0)))
    assert not same(of(one), of(one[:-1]))


def test_rounding_makes_no_other_run():
    one = torch.randn(1000)
    assert same(of(one), of(one * (1 + 1e-6 * torch.randn(1000))))
    assert not same(of(one), of(one * (1 + 1e-2)))


def test_two_starts_of_a_large_layer_differ():
    one, other = (nn.Linear(1000, 1000).weight for _ in range(2))
    assert not same(of(one), of(other))


def test_a_mask_of_infinities_is_the_same_as_itself():
    mask = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), -torch.inf)
    assert of(mask) == of(mask.clone()) and same(of(mask), of(mask))
    assert not same(of(mask), of(mask.T.contiguous()))
    assert of(torch.full((2,), torch.nan)) == of(torch.full((2,), torch.nan))


def test_nothing_is_the_same_as_nothing():
    assert same(of(torch.zeros(0)), of(torch.zeros(0)))
    assert same(of(torch.zeros(3)), of(torch.zeros(3)))


def test_a_shared_weight_is_one_and_buffers_belong_to_the_state():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Linear(2, 2))
    model[2].weight = model[0].weight
    assert list(state_of(model)) == [
        *("0.weight", "0.bias", "1.weight", "1.bias", "2.bias"),
        *("1.running_mean", "1.running_var", "1.num_batches_tracked"),
    ]


def test_a_function_has_the_name_that_it_was_defined_with():
    class Loss:
        def __call__(self, model, batch): ...

        def method(self): ...

    here = "test_a_function_has_the_name_that_it_was_defined_with.<locals>."
    assert name_of(of) == name_of(partial(partial(of))) == "of"
    assert name_of(lambda: 0) == f"{here}<lambda>"
    assert name_of(Loss()) == f"{here}Loss"
    assert name_of(Loss().method) == f"{here}Loss.method"
    assert name_of(None) is None
