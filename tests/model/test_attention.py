import math

import pytest
import torch

from transformer_anatomy import attention_scores, attention_weights, padding_mask
from transformer_anatomy.model.attention import fused_attention

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


class TestScores:
    def test_a_score_is_a_scaled_product(self):
        scores = attention_scores(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[1.0, 0.0, 1.0, 0.0]]))
        assert scores.item() == 2.0  # (1 + 3) / √4

    def test_scaling_keeps_the_variance_of_scores_at_one(self):
        for d_head in (4, 64, 256):
            variance = attention_scores(torch.randn(400, d_head), torch.randn(400, d_head)).var()
            assert variance == pytest.approx(1.0, abs=0.1)

    def test_queries_go_down_and_keys_across(self):
        assert attention_scores(torch.zeros(2, 4, 3, 8), torch.zeros(2, 4, 5, 8)).shape == (2, 4, 3, 5)

    def test_one_query_alone_has_one_score_for_each_key(self):
        assert attention_scores(torch.ones(4), torch.ones(3, 4)).tolist() == [2.0, 2.0, 2.0]

    def test_large_activations_do_not_overflow_float16(self):
        large = torch.full((1, 64), 64.0, dtype=torch.float16)  # The product alone is 262144, above 65504.
        assert attention_scores(large, large).item() == 32768.0

    def test_widths_must_agree(self, unchecked):
        with pytest.raises(ValueError, match="queries and keys must have the same width, at least 1, got 3 and 4"):
            attention_scores(torch.zeros(2, 3), torch.zeros(2, 4))
        with pytest.raises(ValueError, match="at least 1, got 0 and 0"):
            attention_scores(torch.zeros(2, 0), torch.zeros(2, 0))

    def test_samples_must_agree(self, unchecked):
        with pytest.raises(ValueError, match=r"leading axes, got shapes \(2, 1, 4\) and \(3, 1, 4\)"):
            attention_scores(torch.zeros(2, 1, 4), torch.zeros(3, 1, 4))


class TestWeights:
    def test_softmax_runs_over_the_keys(self):
        weights = attention_weights(torch.tensor([[0.0, math.log(3)], [0.0, 0.0]]))
        torch.testing.assert_close(weights, torch.tensor([[0.25, 0.75], [0.5, 0.5]]))
        rectangular = attention_weights(torch.randn(2, 3, 5))
        torch.testing.assert_close(rectangular.sum(dim=-1), torch.ones(2, 3))

    def test_temperature_divides_the_scores(self):
        scores = torch.randn(3, 5)
        torch.testing.assert_close(attention_weights(scores, temperature=0.5), (scores * 2).softmax(dim=-1))

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("temperature", [1e-300, 1e-30, 1e-6, 1e6, 1e300])
    def test_temperature_goes_to_its_limits_without_nan(self, dtype, temperature):
        scores = torch.tensor([[1.0, 30.0, 30.0, -30.0]], dtype=dtype, requires_grad=True)
        weights = attention_weights(scores, torch.tensor([True, True, True, False]), temperature=temperature)
        expected = [0.0, 0.5, 0.5, 0.0] if temperature < 1 else [1 / 3, 1 / 3, 1 / 3, 0.0]
        torch.testing.assert_close(weights, torch.tensor([expected], dtype=dtype), atol=1e-3, rtol=0)
        weights.square().sum().backward()
        assert not scores.grad.isnan().any()

    @pytest.mark.parametrize("temperature", [math.nan, 0.0, -1.0, math.inf, "1", None])
    def test_a_temperature_is_a_finite_number_above_zero(self, unchecked, temperature):
        with pytest.raises(ValueError, match=f"temperature must be a finite number above 0, got {temperature!r}"):
            attention_weights(torch.zeros(1, 2), temperature=temperature)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_a_masked_key_gets_exactly_nothing(self, dtype):
        scores = torch.tensor([[5.0, 1.0, 9.0]], dtype=dtype)
        weights = attention_weights(scores, torch.tensor([[True, True, False]]))
        assert weights[0, 2] == 0
        assert weights.dtype == dtype
        torch.testing.assert_close(weights[0, :2], scores[0, :2].softmax(dim=-1))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_a_query_that_may_attend_to_nothing_gets_zeros_and_gradients_of_zero(self, dtype):
        scores = torch.randn(2, 3, dtype=dtype, requires_grad=True)
        mask = torch.tensor([[False, False, False], [True, True, False]])
        with torch.autograd.set_detect_anomaly(True):
            weights = attention_weights(scores, mask)
            (weights * torch.randn(2, 3, dtype=dtype)).sum().backward()
        assert weights[0].tolist() == [0, 0, 0]
        assert scores.grad[0].tolist() == [0, 0, 0]
        assert scores.grad.isfinite().all() and scores.grad[1, 0] != 0

    def test_a_sample_of_length_zero_attends_to_nothing(self):
        assert attention_weights(torch.zeros(1, 1, 1, 3), padding_mask([0], 3)).tolist() == [[[[0.0, 0.0, 0.0]]]]

    def test_masking_a_key_is_leaving_it_out(self):
        scores, mask = torch.randn(200, 5), torch.rand(200, 5) < 0.6
        for row, keep, weights in zip(scores, mask, attention_weights(scores, mask, temperature=0.7), strict=True):
            torch.testing.assert_close(weights[keep], (row[keep] / 0.7).softmax(dim=-1))

    @pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
    def test_scores_behind_a_mask_do_not_matter_even_if_not_finite(self, garbage):
        scores = torch.tensor([[1.0, garbage], [garbage, garbage]], requires_grad=True)
        weights = attention_weights(scores, torch.tensor([[True, False], [False, False]]), temperature=0.5)
        weights.sum().backward()
        assert weights.tolist() == [[1.0, 0.0], [0.0, 0.0]]
        assert scores.grad.isfinite().all()

    def test_without_keys_there_are_no_weights_and_nothing_is_read(self):
        for mask in (None, torch.ones(3, 0, dtype=torch.bool)):
            weights = attention_weights(torch.zeros(2, 3, 0), mask, temperature=0.5)
            assert weights.shape == (2, 3, 0)
            assert (weights @ torch.zeros(2, 0, 4)).tolist() == torch.zeros(2, 3, 4).tolist()

    @pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.int64])
    def test_numbers_are_not_a_mask(self, unchecked, dtype):
        with pytest.raises(TypeError, match=f"mask must be boolean.*{dtype}"):
            attention_weights(torch.zeros(1, 2), torch.tensor([1, 0], dtype=dtype))

    @pytest.mark.parametrize("shape", [(2,), (2, 3), (1, 2, 3), (4, 1, 1, 3)])
    def test_a_mask_of_the_wrong_shape_is_refused_with_both_shapes(self, shape):
        with pytest.raises(ValueError) as raised:
            attention_weights(torch.zeros(1, 3), torch.ones(shape, dtype=torch.bool))
        assert str(shape) in str(raised.value) and "(1, 3)" in str(raised.value)


def test_values_may_be_wider_than_keys():
    queries, keys, values = torch.randn(2, 3, 2), torch.randn(2, 3, 2), torch.randn(2, 3, 5)
    mixed = attention_weights(attention_scores(queries, keys)) @ values
    assert mixed.shape == (2, 3, 5)
    torch.testing.assert_close(fused_attention(queries, keys, values), mixed)
