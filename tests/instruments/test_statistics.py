import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer_anatomy import (
    attention_distance,
    attention_entropy,
    attention_scores,
    attention_statistics,
    attention_weights,
    causal_mask,
    padding_mask,
    window_mass,
)

FIELDS = ["entropy", "distance", "window_mass", "largest"]
BATCH, N_HEADS, D_HEAD = 2, 3, 4
# Some 50 roundings, relative to each figure.
TOLERANCES = {torch.float64: 1e-12, torch.float32: 5e-6}


def dense(queries, keys, mask=None, window=3):
    """The same figures by the formulas of the library, which hold the whole map."""
    weights = attention_weights(attention_scores(queries, keys), mask)
    near = window_mass(weights, window)
    return dict(
        zip(FIELDS, [attention_entropy(weights), attention_distance(weights), near, weights.amax(dim=-1)], strict=True)
    )


def assert_dense(statistics, queries, keys, mask=None, window=3):
    tolerance = TOLERANCES[queries.dtype]
    for field, expected in dense(queries, keys, mask, window).items():
        figure = getattr(statistics, field)
        assert figure.dtype == queries.dtype
        torch.testing.assert_close(figure, expected, rtol=tolerance, atol=tolerance, msg=lambda m, f=field: f"{f}: {m}")


def draw(n_query, n_key=None, dtype=torch.float64, scale=2.0):
    n_key = n_query if n_key is None else n_key
    queries = scale * torch.randn(BATCH, N_HEADS, n_query, D_HEAD, dtype=dtype)
    return queries, scale * torch.randn(BATCH, N_HEADS, n_key, D_HEAD, dtype=dtype)


def masks(n_query, n_key):
    full = torch.rand(BATCH, N_HEADS, n_query, n_key) < 0.5
    full[0, 1, : n_query // 2] = False
    return {
        "none": None,
        "causal": causal_mask(n_query, n_key),
        "padding": padding_mask([n_key, n_key // 3], n_key),
        "a sample of length 0": padding_mask([0, n_key], n_key),
        "full": full,
        "a head": full[:1],
        "a sample": full[:, :1],
        "one query for all": full[..., :1, :],
        "keys": full[0, 0, 0],
        "queries": full[0, 0, :, :1],
        "one answer for all": torch.tensor(True),
        "nothing": torch.tensor(False),
    }


class TestTheFormulas:
    @pytest.mark.parametrize("dtype", TOLERANCES)
    @pytest.mark.parametrize("block", [2, 3, 9, 1024])
    @pytest.mark.parametrize(("n_query", "n_key"), [(9, 9), (4, 9), (9, 4), (1, 7), (6, 6)])
    def test_they_are_those_of_the_dense_map_for_every_mask_and_block(self, dtype, block, n_query, n_key):
        queries, keys = draw(n_query, n_key, dtype)
        for mask in masks(n_query, n_key).values():
            assert_dense(attention_statistics(queries, keys, mask, block=block), queries, keys, mask)

    @pytest.mark.parametrize("block", [2, 3, 1024])
    @pytest.mark.parametrize(("n_query", "n_key"), [(9, 9), (4, 9), (9, 4), (1, 7), (6, 6)])
    def test_causal_is_the_causal_mask_and_joins_the_other_one(self, block, n_query, n_key):
        queries, keys = draw(n_query, n_key)
        for mask in masks(n_query, n_key).values():
            statistics = attention_statistics(queries, keys, mask, causal=True, block=block)
            past = causal_mask(n_query, n_key)
            assert_dense(statistics, queries, keys, past if mask is None else past & mask)

    @pytest.mark.parametrize("dtype", TOLERANCES)
    def test_a_thousand_keys_are_summed_without_loss(self, dtype):
        queries, keys = draw(1000, dtype=dtype)
        assert_dense(attention_statistics(queries, keys, block=300), queries, keys)

    @pytest.mark.parametrize("window", [0, 1, 5, 19, 100])
    def test_a_window_of_any_width_is_measured_across_blocks(self, window):
        queries, keys = draw(20)
        assert_dense(attention_statistics(queries, keys, window=window, block=3), queries, keys, window=window)

    @pytest.mark.parametrize("scale", [0.0, 1e-3, 30.0, 1e3])
    def test_flat_and_sharp_softmaxes_keep_their_figures(self, scale):
        queries, keys = draw(33, dtype=torch.float64, scale=scale)
        assert_dense(attention_statistics(queries, keys, block=8), queries, keys)

    def test_large_scores_do_not_cost_digits(self):
        """Scores near 10⁵ in float32: only their differences count, and they are exact."""
        queries = torch.full((1, 1, 1, 1), 1.0)
        keys = torch.tensor([100000.0, 100001.0, 100003.0, 100002.0])[None, None, :, None]
        statistics = attention_statistics(queries, keys, block=1)
        assert_dense(statistics, queries, keys)
        small = attention_statistics(queries, keys - 100000, block=4)
        torch.testing.assert_close(statistics.entropy, small.entropy)

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision_is_summed_in_single(self, dtype):
        queries, keys = draw(20, dtype=dtype)
        assert_dense(attention_statistics(queries, keys, block=8), queries.float(), keys.float())
        queries, keys = queries.float(), keys.float()
        with torch.autocast("cpu", dtype=dtype):
            statistics = attention_statistics(queries, keys, block=8)
        assert_dense(statistics, queries, keys)

    @pytest.mark.parametrize("leading", [(), (2,), (2, 3), (4, 2, 3)])
    def test_a_layer_a_sample_or_a_head_alone_is_measured_like_a_batch(self, leading):
        queries, keys = torch.randn(*leading, 9, D_HEAD), torch.randn(9, D_HEAD)
        statistics = attention_statistics(queries, keys, causal=True, block=4)
        assert_dense(statistics, queries, keys, causal_mask(9))
        assert statistics.largest.shape == (*leading, 9)


class TestInvariances:
    """Every property holds for any block, also one that cuts through the window, the padding and the diagonal."""

    def figures(self, *arguments, **options):
        statistics = attention_statistics(*arguments, **options, block=6)
        return torch.stack([getattr(statistics, field) for field in FIELDS])

    def test_a_common_shift_of_a_query_s_scores_changes_nothing(self):
        queries, keys = draw(20)
        shifted = self.figures(queries, keys + torch.randn(D_HEAD))
        torch.testing.assert_close(shifted, self.figures(queries, keys))

    def test_entropy_and_the_largest_weight_do_not_know_where_a_key_stands(self):
        queries, keys = draw(20)
        moved = self.figures(queries, keys[..., torch.randperm(20), :])
        torch.testing.assert_close(moved[[0, 3]], self.figures(queries, keys)[[0, 3]])
        assert (moved[1] - self.figures(queries, keys)[1]).abs().max() > 0.1

    def test_read_backwards_every_figure_comes_out_backwards(self):
        queries, keys = draw(20)
        torch.testing.assert_close(self.figures(queries.flip(-2), keys.flip(-2)).flip(-1), self.figures(queries, keys))

    def test_a_query_does_not_feel_the_others(self):
        queries, keys = draw(20)
        last = self.figures(queries[..., -5:, :], keys, causal=True)
        torch.testing.assert_close(last, self.figures(queries, keys, causal=True)[..., -5:])

    def test_equal_keys_are_read_evenly(self):
        entropy, distance, near, largest = self.figures(draw(20)[0], torch.zeros(BATCH, N_HEADS, 20, D_HEAD).double())
        position = torch.arange(20.0, dtype=torch.float64)
        torch.testing.assert_close(entropy, torch.full_like(entropy, 20.0).log())
        torch.testing.assert_close(distance[0, 0], (position - position[:, None]).abs().mean(dim=0))
        assert near[0, 0, [0, 10, 19]].tolist() == pytest.approx([4 / 20, 7 / 20, 4 / 20])
        torch.testing.assert_close(largest, torch.full_like(largest, 1 / 20))

    def test_a_query_with_one_key_to_read_is_certain(self):
        queries, keys = draw(20, dtype=torch.float32)
        figures = self.figures(queries, keys, torch.eye(20, dtype=torch.bool), window=0)
        assert figures.flatten(start_dim=1).unique(dim=1).tolist() == [[0], [0], [1], [1]]
        assert not figures.signbit().any()


class TestNothing:
    def test_a_query_that_may_attend_to_nothing_has_zeros_and_its_neighbours_do_not(self):
        queries, keys = draw(12)
        mask = torch.ones(12, 12, dtype=torch.bool)
        mask[5] = False
        statistics = attention_statistics(queries, keys, mask, block=4)
        for field in FIELDS:
            assert (getattr(statistics, field)[..., 5] == 0).all()
        assert (statistics.largest[..., [0, 4, 6, 11]] > 0).all()

    @pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0)])
    def test_no_sample_no_head_and_no_query_give_no_figure(self, shape):
        statistics = attention_statistics(torch.zeros(*shape, D_HEAD), torch.zeros(*shape[:2], 5, D_HEAD), causal=True)
        assert all(getattr(statistics, field).shape == shape for field in FIELDS)

    def test_without_keys_there_is_nothing_to_read(self):
        statistics = attention_statistics(torch.randn(1, 2, 3, D_HEAD), torch.randn(1, 2, 0, D_HEAD))
        assert all(getattr(statistics, field).tolist() == [[[0, 0, 0]] * 2] for field in FIELDS)

    def test_what_a_hidden_key_holds_does_not_matter_and_what_a_visible_one_holds_does(self):
        queries, keys = draw(12)
        mask = padding_mask([8, 8], 12)
        expected = attention_statistics(queries, keys, mask, block=4)
        keys[:, :, 8:] = float("nan")
        hidden = attention_statistics(queries, keys, mask, block=4)
        assert all(torch.equal(getattr(hidden, field), getattr(expected, field)) for field in FIELDS)
        assert attention_statistics(queries, keys, block=4).entropy.isnan().all()


class Watch(TorchDispatchMode):
    """Notes the most bytes that any tensor made inside takes, and counts the products of queries and keys."""

    def __init__(self, *given):
        super().__init__()
        self.given, self.largest, self.n_products = {x.untyped_storage().data_ptr() for x in given}, 0, 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        self.n_products += function in (torch.ops.aten.mm.default, torch.ops.aten.bmm.default)
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage().data_ptr() not in self.given:
                self.largest = max(self.largest, tensor.untyped_storage().nbytes())
        return result


class TestMemory:
    @pytest.mark.parametrize("causal", [False, True])
    @pytest.mark.parametrize("masked", [False, True])
    def test_no_tensor_outgrows_a_block_of_scores(self, causal, masked):
        n, block = 2048, 128
        queries, keys = torch.randn(1, N_HEADS, n, D_HEAD), torch.randn(1, N_HEADS, n, D_HEAD)
        mask = padding_mask([n - 5], n)
        with Watch(queries, keys, mask) as watch:
            attention_statistics(queries, keys, mask if masked else None, causal=causal, block=block)
        results = 4 * N_HEADS * n * 4
        assert watch.largest == max(block * block * 4, results)

    def test_many_short_samples_are_cut_along_the_batch(self):
        queries, keys = torch.randn(64, 2, 32, D_HEAD), torch.randn(64, 1, 32, D_HEAD)
        mask = torch.rand(64, 1, 32, 32) < 0.9
        with Watch(queries, keys, mask) as watch:
            statistics = attention_statistics(queries, keys, mask, block=64)
        assert_dense(statistics, queries, keys, mask)
        assert watch.largest <= max(64 * 64 * 4, 4 * 64 * 2 * 32 * 4)
        assert 16 < watch.n_products < 70

    def test_blocks_in_the_future_are_not_computed(self):
        queries, keys = draw(32)
        with Watch() as both:
            attention_statistics(queries[0, 0], keys[0, 0], block=4)
        with Watch() as past:
            attention_statistics(queries[0, 0], keys[0, 0], causal=True, block=4)
        assert both.n_products - past.n_products == 8 * 7 / 2

    def test_the_figures_hold_no_graph(self):
        queries, keys = draw(8)
        assert not attention_statistics(queries.requires_grad_(), keys).entropy.requires_grad


X = torch.zeros(1, 2, 5, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: attention_statistics(X, X, window=-1), ValueError, "window must be at least 0, got -1"),
        (lambda: attention_statistics(X, X, window=1.5), TypeError, "window must be a whole number, got 1.5"),
        (lambda: attention_statistics(X, X, window=True), TypeError, "window must be a whole number, got True"),
        (lambda: attention_statistics(X, X, block=0), ValueError, "block must be at least 1, got 0"),
        (lambda: attention_statistics(X, X, block="8"), TypeError, "block must be a whole number, got '8'"),
        (lambda: attention_statistics(X, X[..., :3]), ValueError, "queries and keys must have the same width.*4 and 3"),
        (lambda: attention_statistics(X[..., :0], X[..., :0]), ValueError, "the same width, at least 1, got 0 and 0"),
        (lambda: attention_statistics(X[0, 0, 0], X), ValueError, r"queries must have shape .*, got \(4,\)"),
        (lambda: attention_statistics(X, X[0, 0, 0]), ValueError, r"keys must have shape .*, got \(4,\)"),
        (lambda: attention_statistics(X, X[:, [0, 1, 1]]), ValueError, "must agree in their leading axes"),
        (lambda: attention_statistics(X, X.double()), TypeError, "one floating dtype, got torch.float32 and.*float64"),
        (lambda: attention_statistics(X.long(), X.long()), TypeError, "one floating dtype, got torch.int64"),
        (lambda: attention_statistics(X, X, torch.ones(5, 5)), TypeError, "mask must be boolean.*float32"),
        (lambda: attention_statistics(X, X, [[True]]), TypeError, "mask must be a boolean tensor.*list"),
        (
            lambda: attention_statistics(X, X, causal_mask(4)),
            ValueError,
            r"mask of shape \(4, 4\) does not broadcast to scores of shape \(1, 2, 5, 5\)",
        ),
        (lambda: attention_statistics(X, X, padding_mask([5, 5], 5)), ValueError, r"mask of shape \(2, 1, 1, 5\)"),
        (lambda: attention_statistics(X, X, causal=causal_mask(5)), TypeError, "causal must be True or False.*Tensor"),
    ],
)
def test_what_cannot_be_measured_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
