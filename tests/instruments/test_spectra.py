import math

import pytest
import torch

from transformer_anatomy import (
    MultiHeadAttention,
    effective_rank,
    head_cores,
    head_products,
    record,
    singular_values,
    stable_rank,
    top_share,
)
from transformer_anatomy.instruments.spectra import product_core

MEASURES = {
    "effective_rank": effective_rank,
    "stable_rank": stable_rank,
    "top_share": lambda matrix: top_share(matrix, 2),
}
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)


def orthogonal(n, dtype=torch.float64):
    return torch.linalg.qr(torch.randn(n, n, dtype=dtype)).Q


class TestHandMade:
    def test_an_identity_uses_every_direction_alike(self):
        identity = torch.eye(5)
        assert singular_values(identity).tolist() == [1] * 5
        assert effective_rank(identity).item() == pytest.approx(5)
        assert stable_rank(identity).item() == pytest.approx(5)
        assert [top_share(identity, k).item() for k in range(1, 6)] == pytest.approx([k / 5 for k in range(1, 6)])

    def test_a_product_of_two_vectors_uses_one(self):
        matrix = torch.outer(torch.randn(4, dtype=torch.float64), torch.randn(6, dtype=torch.float64))
        for measure in (effective_rank, stable_rank, lambda m: top_share(m, 1)):
            assert measure(matrix).item() == pytest.approx(1)

    def test_three_and_four(self):
        matrix = torch.diag(torch.tensor([3.0, 4.0]))
        torch.testing.assert_close(singular_values(matrix), torch.tensor([4.0, 3.0]))
        shares = [3 / 7, 4 / 7]
        assert effective_rank(matrix).item() == pytest.approx(math.exp(-sum(p * math.log(p) for p in shares)))
        assert stable_rank(matrix).item() == pytest.approx(25 / 16)
        assert top_share(matrix, 1).item() == pytest.approx(16 / 25)
        assert top_share(matrix, 2).item() == 1

    @pytest.mark.parametrize("shape", [(3, 3), (2, 5), (2, 3, 4)])
    def test_zeros_use_none(self, shape):
        for measure in MEASURES.values():
            figure = measure(torch.zeros(shape))
            assert figure.shape == shape[:-2] and (figure == 0).all()

    @pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
    def test_a_matrix_without_entries_uses_none(self, shape):
        assert singular_values(torch.zeros(shape)).shape == (0,)
        assert effective_rank(torch.zeros(shape)) == stable_rank(torch.zeros(shape)) == 0


class TestFormulas:
    @pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4), (1, 6)])
    def test_they_agree_with_norms_that_need_no_singular_values(self, shape):
        matrix = torch.randn(shape, dtype=torch.float64)
        squares = torch.linalg.matrix_norm(matrix) ** 2
        torch.testing.assert_close(singular_values(matrix).square().sum(), squares)
        torch.testing.assert_close(singular_values(matrix)[0], torch.linalg.matrix_norm(matrix, ord=2))
        torch.testing.assert_close(stable_rank(matrix), squares / torch.linalg.matrix_norm(matrix, ord=2) ** 2)
        p = singular_values(matrix) / torch.linalg.matrix_norm(matrix, ord="nuc")
        torch.testing.assert_close(effective_rank(matrix), torch.distributions.Categorical(p).entropy().exp())

    def test_a_share_is_what_the_best_matrix_of_that_rank_keeps(self):
        matrix = torch.randn(6, 4, dtype=torch.float64)
        left, values, right = torch.linalg.svd(matrix, full_matrices=False)
        for k in range(1, 5):
            best = left[:, :k] * values[:k] @ right[:k]
            missed = (matrix - best).square().sum() / matrix.square().sum()
            torch.testing.assert_close(top_share(matrix, k), 1 - missed, rtol=0, atol=1e-12)

    @every_measure
    def test_a_batch_is_measured_matrix_by_matrix(self, measure):
        matrices = torch.randn(2, 3, 5, 4, dtype=torch.float64)
        figures = measure(matrices)
        assert figures.shape == (2, 3)
        torch.testing.assert_close(figures[1, 2], measure(matrices[1, 2]))
        assert singular_values(matrices).shape == (2, 3, 4)

    def test_no_figure_leaves_its_bounds(self):
        matrices = torch.randn(100, 4, 6)
        for rank in (effective_rank(matrices), stable_rank(matrices)):
            assert ((rank > 1) & (rank < 4)).all()
        shares = torch.stack([top_share(matrices, k) for k in range(1, 5)])
        assert (shares.diff(dim=0) > 0).all()
        torch.testing.assert_close(shares[-1], torch.ones(100))


class TestInvariances:
    @every_measure
    def test_turning_before_or_after_changes_nothing(self, measure):
        matrix = torch.randn(6, 4, dtype=torch.float64)
        turned = orthogonal(6) @ matrix @ orthogonal(4)
        assert (turned - matrix).abs().max() > 0.1
        torch.testing.assert_close(measure(turned), measure(matrix))

    @every_measure
    def test_neither_does_transposing(self, measure):
        matrix = torch.randn(6, 4, dtype=torch.float64)
        torch.testing.assert_close(measure(matrix.T), measure(matrix))

    @every_measure
    @pytest.mark.parametrize("scale", [1e-30, -3.0, 1e30])
    def test_nor_does_the_size_even_where_squares_would_leave_float32(self, measure, scale):
        matrix = torch.randn(6, 4)
        torch.testing.assert_close(measure(scale * matrix), measure(matrix))

    @every_measure
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision_is_measured_in_single(self, measure, dtype):
        matrix = torch.randn(6, 4).to(dtype)
        torch.testing.assert_close(measure(matrix), measure(matrix.float()), rtol=0, atol=0)


class TestHeads:
    @pytest.fixture
    def attention(self):
        return MultiHeadAttention(d_model=12, n_heads=3, bias=False).double()

    def test_a_product_gives_the_scores_of_its_head(self, attention):
        x = torch.randn(2, 5, 12, dtype=torch.float64)
        with record(attention, "scores") as trace:
            attention(x)
        x = x[:, None]
        scores = x @ head_products(attention) @ x.transpose(-2, -1) / math.sqrt(4)
        torch.testing.assert_close(scores, trace["scores"])

    def test_a_core_has_the_singular_values_of_its_product_and_no_others(self, attention):
        products, cores = head_products(attention), head_cores(attention)
        assert products.shape == (3, 12, 12) and cores.shape == (3, 4, 4)
        torch.testing.assert_close(singular_values(cores), singular_values(products)[:, :4])
        assert singular_values(products)[:, 4:].max() < 1e-14
        for measure in MEASURES.values():
            torch.testing.assert_close(measure(cores), measure(products))

    @pytest.mark.parametrize("shape", [(5, 2, 7), (3, 5, 4), (6, 6, 6), (1, 3, 2), (4, 1, 4)])
    def test_a_core_stands_for_a_product_of_any_shape(self, shape):
        rows, inner, columns = shape
        left, right = torch.randn(rows, inner).double(), torch.randn(columns, inner).double()
        core = singular_values(product_core(left, right))
        product = singular_values(left @ right.T)
        n = min(shape)
        torch.testing.assert_close(core[:n], product[:n])
        assert core[n:].sum() < 1e-13 and product[n:].sum() < 1e-13

    def test_what_a_matrix_passes_from_queries_to_keys_is_not_seen(self, attention):
        before = head_products(attention)
        change = torch.randn(4, 4, dtype=torch.float64)
        with torch.no_grad():
            attention.query_projection.weight[:4] = change.T @ attention.query_projection.weight[:4]
            attention.key_projection.weight[:4] = torch.linalg.inv(change) @ attention.key_projection.weight[:4]
        torch.testing.assert_close(head_products(attention), before)

    def test_the_module_s_graph_and_precision_stay_out_of_it(self, attention):
        assert not head_products(attention).requires_grad and not head_cores(attention).requires_grad
        assert head_cores(attention.half()).dtype == head_products(attention.half()).dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: singular_values(torch.ones(3)), ValueError, r"matrix must have shape .*, got \(3,\)"),
        (lambda: effective_rank(torch.tensor([[1.0, math.nan]])), ValueError, "matrix must be finite"),
        (lambda: stable_rank(torch.tensor([[1.0, math.inf]])), ValueError, "matrix must be finite"),
        (lambda: top_share(torch.eye(3), 0), ValueError, "k must be at least 1, got 0"),
        (lambda: top_share(torch.eye(3), 4), ValueError, "k must be at most the number of singular values, 3, got 4"),
        (lambda: top_share(torch.eye(3), 0.5), TypeError, "k must be a whole number, got 0.5"),
        (lambda: head_products(torch.nn.Linear(2, 2)), TypeError, "must be a MultiHeadAttention, got Linear"),
        (lambda: head_cores(None), TypeError, "must be a MultiHeadAttention, got NoneType"),
    ],
)
def test_what_has_no_spectrum_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
