import math

import pytest
import torch

from transformer_anatomy import causal_mask, mean_pool, padding_mask


def test_a_sentence_is_the_mean_of_its_tokens_and_padding_is_none():
    stream = torch.tensor([[[2.0, 0.0], [4.0, 0.0], [9.0, 9.0]]])
    assert mean_pool(stream, padding_mask([2], 3)).tolist() == [[3.0, 0.0]]
    assert mean_pool(stream).tolist() == [[5.0, 3.0]]


@pytest.mark.parametrize("garbage", [7.0, math.nan, math.inf])
def test_a_sentence_does_not_depend_on_its_neighbours(garbage):
    stream = torch.randn(3, 5, 4)
    lengths = [5, 2, 1]
    padded = stream.masked_fill(~padding_mask(lengths, 5)[:, 0, 0, :, None], garbage)
    for sample, n, vector in zip(stream, lengths, mean_pool(padded, padding_mask(lengths, 5)), strict=True):
        torch.testing.assert_close(vector, sample[:n].mean(dim=0))


def test_padding_on_the_left_is_padding_too():
    stream = torch.randn(2, 4, 3)
    pooled = mean_pool(stream, padding_mask([4, 1], 4).flip(-1))
    torch.testing.assert_close(pooled, torch.stack([stream[0].mean(dim=0), stream[1, 3]]))


def test_a_sample_of_padding_alone_is_zero_with_finite_gradients():
    stream = torch.randn(2, 3, 4, requires_grad=True)
    pooled = mean_pool(stream, padding_mask([0, 3], 3))
    pooled.sin().sum().backward()
    assert not pooled[0].any() and not stream.grad[0].any()
    assert stream.grad[1].isfinite().all() and stream.grad[1].all()


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (0, 0, 4)])
def test_where_there_is_nothing_to_pool_the_shape_remains(shape):
    batch, n, d_model = shape
    for mask in (None, torch.ones(batch, 1, 1, n, dtype=torch.bool)):
        pooled = mean_pool(torch.zeros(shape), mask)
        assert pooled.shape == (batch, d_model) and not pooled.any()


@pytest.mark.parametrize(
    "mask",
    [
        padding_mask([3, 2], 3) & causal_mask(3),
        padding_mask([3, 2], 3).expand(2, 2, 3, 3),
        padding_mask([3, 2], 3) & torch.ones(4, 1, 1, dtype=torch.bool),
    ],
    ids=["causal", "expanded", "one for each head"],
)
def test_any_mask_of_the_encoder_says_what_is_padding(mask):
    stream = torch.randn(2, 3, 4)
    torch.testing.assert_close(mean_pool(stream, mask), mean_pool(stream, padding_mask([3, 2], 3)))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(2, 1, 1, 3), TypeError, "mask must be boolean .* got torch.float32"),
        ([[True, True, False]], TypeError, "mask must be a boolean tensor .* got list"),
        (torch.ones(2, 1, 1, 4).bool(), ValueError, r"\(2, 1, 1, 4\) does not broadcast"),
        (torch.ones(2, 3, 3).bool(), ValueError, "could mean samples or heads|does not broadcast"),
        (torch.ones(2, 3).bool(), ValueError, "does not broadcast"),
    ],
)
def test_what_is_no_mask_of_these_tokens_is_refused(unchecked, mask, error, message):
    with pytest.raises(error, match=message):
        mean_pool(torch.zeros(2, 3, 4), mask)


def test_a_long_sentence_does_not_overflow_half_precision():
    stream = torch.full((1, 512, 4), 200.0, dtype=torch.float16)  # The sum alone is 102400, above 65504.
    for mask in (None, padding_mask([500], 512)):
        assert mean_pool(stream, mask).tolist() == [[200.0] * 4]


@pytest.mark.parametrize("shape", [(5, 8), (6, 2, 5, 8)])
def test_only_a_stream_is_pooled(unchecked, shape):
    with pytest.raises(ValueError, match=r"stream must be \(batch, position, d_model\), got"):
        mean_pool(torch.zeros(shape))
