import math

import pytest
import torch

from transformer_anatomy import (
    attention_distance,
    attention_entropy,
    attention_weights,
    causal_mask,
    softmax_jacobian,
    window_mass,
)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


class TestEntropy:
    @pytest.mark.parametrize("n", [1, 2, 10, 64])
    def test_uniform_weights_have_the_logarithm_of_n_and_a_certain_row_has_none(self, n):
        assert attention_entropy(torch.full((n,), 1 / n)).item() == pytest.approx(math.log(n), abs=1e-6)
        certain = attention_entropy(torch.eye(n))
        assert certain.tolist() == [0.0] * n
        assert not certain.signbit().any()

    def test_it_is_measured_in_nats_for_each_query(self):
        weights = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.5, 0.25, 0.125, 0.125]])
        torch.testing.assert_close(attention_entropy(weights), torch.tensor([1.0, 1.75]) * math.log(2))
        assert attention_entropy(torch.rand(2, 4, 3, 5).softmax(dim=-1)).shape == (2, 4, 3)

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_nothing_times_the_logarithm_of_nothing_is_nothing(self, dtype):
        scores = torch.tensor([0.0, 0.0, -math.inf], dtype=dtype, requires_grad=True)
        with torch.autograd.set_detect_anomaly(True):
            entropy = attention_entropy(scores.softmax(dim=-1))
            entropy.backward()
        assert entropy.item() == pytest.approx(math.log(2), rel=2 * torch.finfo(dtype).eps)
        torch.testing.assert_close(scores.grad, torch.zeros(3, dtype=dtype))

    def test_a_zero_passes_no_gradient_and_a_small_weight_is_not_rounded_away(self):
        weights = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
        attention_entropy(weights).backward()
        torch.testing.assert_close(weights.grad, torch.tensor([-1.0 - math.log(0.5)] * 2 + [0.0]))
        tiny = torch.tensor([1.0, 1e-40], dtype=torch.float64)
        assert attention_entropy(tiny).item() == pytest.approx(1e-40 * 40 * math.log(10))

    def test_a_query_that_may_attend_to_nothing_has_no_entropy(self):
        scores = torch.randn(2, 3, requires_grad=True)
        mask = torch.tensor([[False, False, False], [True, True, True]])
        entropy = attention_entropy(attention_weights(scores, mask))
        entropy.sum().backward()
        assert entropy[0] == 0 and entropy[1] > 0
        assert scores.grad.isfinite().all()

    def test_scores_are_not_weights(self):
        with pytest.raises(ValueError, match="weights must not be negative"):
            attention_entropy(torch.tensor([2.0, -1.0]))


class TestDistance:
    def test_it_is_the_mean_number_of_positions_between_query_and_key(self):
        assert attention_distance(torch.eye(4)).tolist() == [0, 0, 0, 0]
        assert attention_distance(torch.eye(4).flip(dims=[1])).tolist() == [3, 1, 1, 3]
        assert attention_distance(torch.full((3, 3), 1 / 3)).tolist() == pytest.approx([1, 2 / 3, 1])

    def test_each_head_and_query_has_its_own(self):
        assert attention_distance(torch.rand(2, 4, 3, 5)).shape == (2, 4, 3)

    def test_the_last_queries_stand_at_the_last_keys(self):
        assert attention_distance(torch.tensor([[0.0, 0.0, 0.0, 1.0]])).tolist() == [0]
        assert attention_distance(torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])).tolist() == [1, 0]

    def test_nothing_read_is_no_distance(self):
        assert attention_distance(torch.zeros(2, 2)).tolist() == [0, 0]


class TestWindowMass:
    def test_it_is_the_weight_on_near_keys(self):
        weights = torch.tensor([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.0, 0.0, 1.0]])
        assert window_mass(weights, 0).tolist() == [0.5, 0.75, 1.0]
        assert window_mass(weights, 1).tolist() == [0.75, 1.0, 1.0]
        assert window_mass(weights, 2).tolist() == [1.0, 1.0, 1.0]

    def test_a_window_is_not_negative(self):
        with pytest.raises(ValueError, match="window must be at least 0, got -1"):
            window_mass(torch.eye(2), -1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_measured_in_single(dtype):
    weights = torch.full((1, 3000), 1 / 3000, dtype=dtype)
    measures = (attention_entropy, attention_distance, lambda weights: window_mass(weights, 100))
    for measure in measures:
        assert measure(weights).dtype == torch.float32
        assert torch.equal(measure(weights), measure(weights.float()))
    far = torch.zeros(1, 70_000, dtype=dtype)
    far[0, 0] = 1
    assert attention_distance(far).item() == 69_999  # float16 ends at 65504


@pytest.mark.parametrize("instrument", [attention_distance, lambda weights: window_mass(weights, 1)])
def test_one_row_alone_has_no_position(instrument):
    with pytest.raises(ValueError, match=r"weights must have shape \(\.\.\., query, key\), got \(3,\)"):
        instrument(torch.ones(3) / 3)


class TestJacobian:
    def test_it_is_the_derivative_of_the_weights_by_the_scores(self):
        scores = torch.randn(5, dtype=torch.float64)
        expected = torch.autograd.functional.jacobian(attention_weights, scores)
        torch.testing.assert_close(softmax_jacobian(attention_weights(scores)), expected)

    def test_at_a_temperature_it_is_divided_by_it(self):
        scores = torch.randn(5, dtype=torch.float64)
        expected = torch.autograd.functional.jacobian(lambda s: attention_weights(s, temperature=0.5), scores)
        torch.testing.assert_close(softmax_jacobian(attention_weights(scores, temperature=0.5)) / 0.5, expected)

    def test_it_is_symmetric_and_ignores_a_common_shift(self):
        jacobian = softmax_jacobian(attention_weights(torch.randn(2, 4, 3, 5), causal_mask(3, 5)))
        assert jacobian.shape == (2, 4, 3, 5, 5)
        torch.testing.assert_close(jacobian, jacobian.transpose(-2, -1))
        torch.testing.assert_close(jacobian.sum(dim=-1), torch.zeros(2, 4, 3, 5))

    def test_it_vanishes_at_certainty(self):
        assert softmax_jacobian(torch.eye(3)).abs().max() == 0

    def test_a_single_number_has_no_keys(self, unchecked):
        with pytest.raises(ValueError, match=r"weights must have shape \(\.\.\., key\), got \(\)"):
            softmax_jacobian(torch.tensor(1.0))


@pytest.mark.parametrize("instrument", [attention_entropy, attention_distance, softmax_jacobian])
def test_a_list_is_no_tensor(unchecked, instrument):
    with pytest.raises(TypeError, match="weights must be a tensor, got list"):
        instrument([[0.5, 0.5]])
