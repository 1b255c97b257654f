import pytest
import torch

from transformer_anatomy import merge_heads, split_heads


def test_a_head_is_a_slice_of_features_not_of_tokens():
    heads = split_heads(torch.arange(8.0).reshape(1, 2, 4), 2)
    assert heads[0, 0].tolist() == [[0, 1], [4, 5]]
    assert heads[0, 1].tolist() == [[2, 3], [6, 7]]


def test_merging_undoes_splitting():
    x = torch.randn(2, 3, 12)
    for n_heads in (1, 2, 3, 12):
        assert torch.equal(merge_heads(split_heads(x, n_heads)), x)


def test_bad_shapes_are_refused(unchecked):
    with pytest.raises(ValueError, match=r"x must have shape \(batch, position, d_model\), got \(3, 4\)"):
        split_heads(torch.zeros(3, 4), 2)
    with pytest.raises(ValueError, match="n_heads must divide d_model, got n_heads = 3 and d_model = 4"):
        split_heads(torch.zeros(1, 3, 4), 3)
    with pytest.raises(ValueError, match=r"x must have shape \(batch, head, position, d_head\), got \(1, 3, 4\)"):
        merge_heads(torch.zeros(1, 3, 4))
