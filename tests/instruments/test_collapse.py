import math

import pytest
import torch
from torch import nn

from transformer_anatomy import (
    MultiHeadAttention,
    distance_to_collapse,
    effective_rank,
    padding_mask,
    stream_rank,
    token_similarity,
    write_ratio,
)

BATCH, LENGTH, D_MODEL = 3, 7, 5
MEASURES = {
    "token_similarity": token_similarity,
    "distance_to_collapse": distance_to_collapse,
    "stream_rank": stream_rank,
    "write_ratio": lambda stream, mask=None: write_ratio(stream * 2.0 ** torch.arange(D_MODEL), stream, mask),
}
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
of_tokens = pytest.mark.parametrize("measure", list(MEASURES.values())[:3], ids=list(MEASURES)[:3])


def draw(*shape, dtype=torch.float64):
    return torch.randn(*(shape or (BATCH, LENGTH, D_MODEL)), dtype=dtype)


def orthogonal(n):
    return torch.linalg.qr(draw(n, n)).Q


class TestEveryMeasure:
    @every_measure
    def test_padding_is_left_out_whatever_it_holds(self, measure):
        stream, lengths = draw(), [LENGTH, 4, 2]
        figures = measure(stream, padding_mask(lengths, LENGTH))
        for i, length in enumerate(lengths):
            torch.testing.assert_close(figures[i : i + 1], measure(stream[i : i + 1, :length]))
        stream[1, 4:], stream[2, 2:] = math.nan, math.inf
        assert torch.equal(measure(stream, padding_mask(lengths, LENGTH)), figures)
        one = padding_mask([4], LENGTH)
        torch.testing.assert_close(measure(stream[:2], one), measure(stream[:2, :4]))

    @every_measure
    def test_a_layer_axis_goes_first(self, measure):
        streams, mask = draw(4, BATCH, LENGTH, D_MODEL), padding_mask([7, 4, 2], LENGTH)
        figures = measure(streams, mask)
        assert figures.shape == (4, BATCH)
        torch.testing.assert_close(figures, torch.stack([measure(stream, mask) for stream in streams]))

    @every_measure
    @pytest.mark.parametrize("scale", [1e-37, 1e-30, 1e30, 1e36])
    def test_a_stream_that_fades_out_or_grows_is_measured_all_the_same(self, measure, scale):
        stream = draw(dtype=torch.float32)
        torch.testing.assert_close(measure(scale * stream), measure(stream), rtol=1e-5, atol=1e-5)

    @every_measure
    def test_the_order_of_the_tokens_does_not_matter(self, measure):
        stream = draw()
        torch.testing.assert_close(measure(stream[:, torch.randperm(LENGTH)]), measure(stream))

    @of_tokens
    def test_nor_does_the_basis_of_the_stream(self, measure):
        stream = draw()
        torch.testing.assert_close(measure(stream @ orthogonal(D_MODEL)), measure(stream))

    @every_measure
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision_is_measured_in_single(self, measure, dtype):
        stream = draw(BATCH, 40, D_MODEL, dtype=torch.float32).to(dtype)  # no direction small enough to be rounding
        assert measure(stream).dtype == torch.float32
        assert torch.equal(measure(stream), measure(stream.float()))

    @every_measure
    def test_a_batch_without_samples_has_no_figures(self, measure):
        assert measure(draw(0, LENGTH, D_MODEL)).shape == (0,)
        assert measure(draw(4, 0, LENGTH, D_MODEL), padding_mask([], LENGTH)).shape == (4, 0)

    @every_measure
    @pytest.mark.parametrize("faded", [0.0, 1e-30])
    def test_no_figure_passes_back_nan_even_where_tokens_are_alike(self, measure, faded):
        stream = (
            torch.ones(1, LENGTH, D_MODEL) + faded * draw(1, LENGTH, D_MODEL, dtype=torch.float32)
        ).requires_grad_()
        measure(stream).sum().backward()
        assert stream.grad.isfinite().all()

    @of_tokens
    @pytest.mark.parametrize("lengths", [[7, 1, 3], [7, 0, 3]])
    def test_a_sample_without_two_tokens_is_named(self, measure, lengths):
        with pytest.raises(ValueError, match=f"each sample must have at least 2 tokens, got \\[7, {lengths[1]}, 3\\]"):
            measure(draw(), padding_mask(lengths, LENGTH))
        with pytest.raises(ValueError, match=r"at least 2 tokens, got \[1, 1\] of 1 positions"):
            measure(draw(4, 2, 1, D_MODEL))
        with pytest.raises(ValueError, match=r"at least 2 tokens, got \[\] of 0 positions"):
            measure(draw(0, 0, D_MODEL))


class TestTokenSimilarity:
    def test_it_is_the_mean_of_the_cosines_of_all_pairs(self):
        stream = draw() + 1
        units = stream / stream.norm(dim=-1, keepdim=True)
        cosines = units @ units.transpose(-2, -1)
        pairs = ~torch.eye(LENGTH, dtype=torch.bool)
        torch.testing.assert_close(token_similarity(stream), cosines[:, pairs].mean(dim=-1))

    def test_parallel_right_angled_and_opposite(self):
        directions = torch.tensor([[1.0, 2.0, 2.0]] * 4)
        assert token_similarity(directions[None]).item() == pytest.approx(1)
        assert token_similarity(torch.eye(3)[None]).item() == pytest.approx(0, abs=1e-7)
        assert token_similarity(torch.stack([directions[0], -directions[0]])[None]).item() == pytest.approx(-1)

    def test_how_long_a_token_is_does_not_matter(self):
        stream = draw()
        torch.testing.assert_close(token_similarity(stream * torch.rand(BATCH, LENGTH, 1)), token_similarity(stream))

    def test_a_token_of_zeros_has_no_direction_but_padding_may_be_zero(self):
        stream = draw()
        stream[1, 4:] = 0
        with pytest.raises(ValueError, match="a token of zeros, which has no direction"):
            token_similarity(stream)
        assert token_similarity(stream, padding_mask([7, 4, 7], LENGTH)).isfinite().all()

    def test_random_tokens_are_unlike_on_average(self):
        similarity = token_similarity(draw(200, 16, 64)).mean()
        assert abs(similarity) < 5 / math.sqrt(64 * 200 * 16 * 15 / 2)  # 5 standard errors: a cosine has variance 1/64


class TestDistanceToCollapse:
    def test_it_is_what_the_mean_token_leaves(self):
        stream = draw() + 1
        residual = stream - stream.mean(dim=1, keepdim=True)
        expected = residual.flatten(start_dim=1).norm(dim=1) / stream.flatten(start_dim=1).norm(dim=1)
        torch.testing.assert_close(distance_to_collapse(stream), expected)

    def test_no_other_token_in_place_of_all_comes_nearer(self):
        stream = draw(1, LENGTH, D_MODEL) + 1
        nearest = distance_to_collapse(stream) * stream.norm()
        for size in (1e-3, 0.1, 1):
            other = stream.mean(dim=1, keepdim=True) + size * draw(1, 1, D_MODEL)
            assert (stream - other).norm() > nearest

    def test_equal_tokens_have_none_and_opposite_ones_have_all(self):
        token = draw(1, 1, D_MODEL)
        assert distance_to_collapse(token.expand(2, LENGTH, D_MODEL)).max() < 1e-15
        assert distance_to_collapse(torch.cat([token, -token], dim=1)).item() == pytest.approx(1)
        assert distance_to_collapse(torch.zeros(1, LENGTH, D_MODEL)).item() == 0

    def test_a_small_difference_is_told_in_proportion(self):
        token, difference = draw(1, 1, D_MODEL).expand(1, LENGTH, D_MODEL), draw(1, LENGTH, D_MODEL)
        near, nearer = (distance_to_collapse(token + size * difference).item() for size in (1e-6, 1e-9))
        assert near / nearer == pytest.approx(1000, rel=1e-4)


class TestStreamRank:
    def test_it_is_the_effective_rank_of_what_the_mean_token_leaves(self):
        stream = draw()
        torch.testing.assert_close(stream_rank(stream), effective_rank(stream - stream.mean(dim=1, keepdim=True)))

    def test_what_all_tokens_share_is_no_direction(self):
        stream = draw()
        torch.testing.assert_close(stream_rank(stream + 100 * draw(BATCH, 1, D_MODEL)), stream_rank(stream))

    @pytest.mark.parametrize("n_directions", [1, 2, 3])
    def test_tokens_that_differ_in_few_directions_have_that_rank_at_most(self, n_directions):
        stream = draw(4, LENGTH, n_directions) @ draw(4, n_directions, D_MODEL) + draw(4, 1, D_MODEL)
        assert ((stream_rank(stream) > n_directions - 0.9) & (stream_rank(stream) < n_directions + 1e-6)).all()

    def test_the_corners_of_a_simplex_differ_in_every_direction_alike(self):
        assert stream_rank(torch.eye(5)[None]).item() == pytest.approx(4)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_what_rounding_leaves_of_equal_tokens_is_no_direction_and_a_thousand_times_as_much_is(self, dtype):
        eps = torch.finfo(dtype).eps
        token = draw(1, 1, 32, dtype=dtype)
        noise = (torch.rand(8, 16, 32, dtype=dtype) - 0.5) * eps
        assert (stream_rank(token * (1 + noise)) == 0).all()
        assert (stream_rank(token * (1 + 1000 * noise)) > 8).all()
        assert stream_rank(torch.zeros(1, 4, 3, dtype=dtype)) == 0

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_attention_without_a_residual_stream_ends_at_rank_zero(self, dtype):
        stream, ranks, distances = draw(2, 16, 32, dtype=dtype), [], []
        with torch.no_grad():
            for _ in range(8):
                ranks.append(stream_rank(stream))
                distances.append(distance_to_collapse(stream))
                stream = nn.LayerNorm(32).to(dtype)(MultiHeadAttention(d_model=32, n_heads=2).to(dtype)(stream))
        assert (ranks[0] > 12).all() and (ranks[-1] == 0).all()
        assert (distances[0] > 0.9).all() and (distances[-1] < 8 * torch.finfo(dtype).eps).all()


X = torch.ones(2, 3, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: token_similarity(X[0]), ValueError, r"stream must have shape \(\.\.\., batch.*got \(3, 4\)"),
        (lambda: stream_rank(X[..., :0]), ValueError, r"stream must have shape .*got \(2, 3, 0\)"),
        (lambda: stream_rank(X.long()), TypeError, "stream must hold floating-point numbers, got torch.int64"),
        (lambda: token_similarity(X / 0), ValueError, "stream must be finite"),
        (lambda: stream_rank(X * math.nan), ValueError, "stream must be finite"),
        (lambda: token_similarity(X, X[:, None, :1, :3]), TypeError, "mask must be boolean.*float32"),
        (lambda: token_similarity(X, X[..., 0] > 0), ValueError, r"padding mask of shape \(2, 1, 1, 3\), got \(2, 3\)"),
        (lambda: stream_rank(X, torch.ones(3, 3).bool()), ValueError, r"padding mask.*got \(3, 3\)"),
        (lambda: stream_rank(X, padding_mask([3, 3, 3], 3)), ValueError, r"padding mask.*got \(3, 1, 1, 3\)"),
        (lambda: token_similarity([[[1.0]]]), TypeError, "stream must be a tensor, got list"),
    ],
)
def test_what_is_no_stream_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
