import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import (
    attention_weights,
    blocked_mask,
    causal_mask,
    padding_mask,
    window_mask,
)
from transformer_anatomy.model.masks import check_sample_mask, visible_keys

T, _ = True, False


def test_the_future_is_hidden_and_the_present_is_not():
    assert causal_mask(3).tolist() == [[T, _, _], [T, T, _], [T, T, T]]


def test_the_last_query_of_a_causal_mask_sees_every_key():
    assert causal_mask(2, 4).tolist() == [[T, T, T, _], [T, T, T, T]]
    assert causal_mask(3, 2).tolist() == [[_, _], [T, _], [T, T]]


def test_a_window_reaches_equally_far_to_both_sides():
    assert window_mask(4, 1).tolist() == [[T, T, _, _], [T, T, T, _], [_, T, T, T], [_, _, T, T]]
    assert torch.equal(window_mask(3, 0), torch.eye(3, dtype=torch.bool))
    assert window_mask(1, 1, 3).tolist() == [[_, T, T]]


def test_padding_hides_keys_of_its_own_sample_for_every_head_and_query():
    mask = padding_mask([3, 1, 0], 3)
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[T, T, T], [T, _, _], [_, _, _]]
    assert torch.equal(padding_mask(torch.tensor([3, 1, 0]), 3), mask)


def test_a_padded_key_is_hidden_not_a_padded_query():
    weights = attention_weights(torch.zeros(1, 1, 3, 3), padding_mask([2], 3))
    torch.testing.assert_close(weights[0, 0], torch.tensor([[0.5, 0.5, 0.0]] * 3))


def test_masks_combine_with_and():
    combined = causal_mask(3) & padding_mask([2], 3)
    assert combined[0, 0].tolist() == [[T, _, _], [T, T, _], [T, T, _]]


def test_a_key_is_visible_if_some_query_of_some_head_may_attend_to_it():
    mask = torch.zeros(2, 2, 3, 3, dtype=torch.bool)
    mask[0, 1, 2, 1] = True
    assert visible_keys(mask)[:, 0, 0].tolist() == [[_, T, _], [_, _, _]]
    assert visible_keys(mask).shape == (2, 1, 1, 3)
    padding = padding_mask([3, 2], 3)
    for combined in (padding, padding & causal_mask(3), padding & window_mask(3, 0)):
        assert torch.equal(visible_keys(combined), padding)
    assert visible_keys(torch.tensor([T, _])).tolist() == [[[[T, _]]]]


@pytest.mark.parametrize("shape", [(), (4,), (1,), (3, 4), (3, 1), (2, 2, 3, 4), (2, 1, 1, 4), (1, 1, 1, 1)])
def test_a_mask_whose_axes_are_clear_is_accepted(shape):
    check_sample_mask(torch.ones(shape, dtype=torch.bool), (2, 2, 3, 4))


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4), (1, 1, 1)])
def test_three_axes_could_be_samples_or_heads_and_are_refused(shape):
    with pytest.raises(ValueError, match=r"could mean samples or heads: write mask\[:, None\] for one mask a sample"):
        check_sample_mask(torch.ones(shape, dtype=torch.bool), (2, 2, 3, 4))


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 2, 4, 3), (4, 1, 1, 4), (3, 3, 4), (1, 2, 2, 3, 4)])
def test_a_mask_that_would_have_to_be_cut_or_enlarged_is_refused(shape):
    with pytest.raises(ValueError, match=r"does not broadcast to scores of shape \(2, 2, 3, 4\)"):
        check_sample_mask(torch.ones(shape, dtype=torch.bool), (2, 2, 3, 4))


def test_true_means_may_attend_here_and_in_the_fused_kernel_and_after_conversion_in_the_module():
    values = torch.tensor([[[1.0], [2.0], [3.0]]])
    queries, keys = torch.zeros(1, 1, 1), torch.zeros(1, 3, 1)
    mask = torch.tensor([[True, False, False]])
    module = nn.MultiheadAttention(1, 1, bias=False, batch_first=True)
    for parameter in module.parameters():
        nn.init.ones_(parameter)

    ours = attention_weights(torch.zeros(1, 1, 3), mask) @ values
    fused = F.scaled_dot_product_attention(queries, keys, values, mask)
    reference, _ = module(queries, keys, values, attn_mask=blocked_mask(mask))
    flipped = attention_weights(torch.zeros(1, 1, 3), blocked_mask(mask)) @ values
    assert [x.item() for x in (ours, fused, reference, flipped)] == [1.0, 1.0, 1.0, 2.5]


def test_masks_are_made_where_they_are_asked_for():
    assert causal_mask(2, device="meta").device.type == "meta"
    assert window_mask(2, 1, device="meta").device.type == "meta"
    assert padding_mask([1], 2, device="meta").device.type == "meta"
    assert padding_mask(torch.tensor([1]), 2).device == torch.tensor([1]).device


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: causal_mask(-1), ValueError, "n_query must be at least 0, got -1"),
        (lambda: causal_mask(2, -3), ValueError, "n_key must be at least 0, got -3"),
        (lambda: window_mask(3, -1), ValueError, "window must be at least 0, got -1"),
        (lambda: causal_mask(2.5), TypeError, "n_query must be a whole number, got 2.5"),
        (lambda: window_mask(3, True), TypeError, "window must be a whole number, got True"),
        (lambda: causal_mask(2, device="cuda:7"), ValueError, "device 'cuda:7' is not there; this machine has cpu"),
        (lambda: padding_mask([1], 2.5), TypeError, "n must be a whole number, got 2.5"),
        (lambda: padding_mask(None, 3), TypeError, "lengths must be whole numbers.*None"),
        (lambda: padding_mask(["1"], 3), TypeError, r"lengths must be whole numbers.*\['1'\]"),
        (lambda: padding_mask([4], 3), ValueError, r"between 0 and n = 3, got \[4\]"),
        (lambda: padding_mask([-1], 3), ValueError, r"between 0 and n = 3, got \[-1\]"),
        (lambda: padding_mask([1.5], 3), TypeError, "lengths must be whole numbers.*float32"),
        (lambda: padding_mask(torch.tensor([True]), 3), TypeError, "lengths must be whole numbers.*bool"),
        (lambda: padding_mask(torch.ones(2, 3, dtype=torch.long), 3), ValueError, r"one number for each.*\(2, 3\)"),
        (lambda: blocked_mask(torch.tensor([1.0, 0.0])), TypeError, "mask must be boolean.*float32"),
        (lambda: blocked_mask([True]), TypeError, "mask must be a boolean tensor.*list"),
        (lambda: visible_keys(torch.ones(2, 1, 1, 3)), TypeError, "mask must be boolean.*float32"),
    ],
)
def test_what_no_mask_can_be_made_of_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_batch_without_samples_has_a_mask_without_samples():
    assert padding_mask([], 3).shape == (0, 1, 1, 3)
