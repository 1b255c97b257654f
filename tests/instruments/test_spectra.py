import math

import pytest
import torch

from transformer_anatomy import effective_rank, singular_values, stable_rank, top_share
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
    @pytest.mark.parametrize("scale", [1e-37, 1e-30, -3.0, 1e30, 5e37])
    def test_nor_does_the_size_even_where_sums_or_squares_would_leave_float32(self, measure, scale):
        matrix = torch.randn(6, 4)
        torch.testing.assert_close(measure(scale * matrix), measure(matrix), rtol=1e-5, atol=0)

    @every_measure
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
    def test_the_largest_numbers_of_a_precision_are_measured_like_ones(self, measure, dtype):
        largest, least = torch.finfo(dtype).max, torch.finfo(dtype).tiny
        for pattern in (torch.eye(8), torch.ones(8, 8), torch.ones(8, 8).tril()):
            expected = measure(pattern.to(torch.promote_types(dtype, torch.float32)))
            for extreme in (largest, least):
                torch.testing.assert_close(measure(pattern.to(dtype) * extreme), expected, rtol=1e-5, atol=1e-5)

    def test_each_matrix_of_a_batch_has_a_size_of_its_own(self):
        sizes = torch.tensor([1e-30, 0.0, 1.0, 1e37])[:, None, None]
        for measure in MEASURES.values():
            matrix = torch.randn(6, 4)
            figures = measure(sizes * matrix)
            torch.testing.assert_close(figures, measure(matrix) * torch.tensor([1.0, 0.0, 1.0, 1.0]))

    @every_measure
    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    def test_half_precision_is_measured_in_single(self, measure, dtype):
        matrix = torch.randn(6, 4).to(dtype)
        torch.testing.assert_close(measure(matrix), measure(matrix.float()), rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(5, 2, 7), (3, 5, 4), (6, 6, 6), (1, 3, 2), (4, 1, 4)])
def test_a_core_stands_for_a_product_of_any_shape(shape):
    rows, inner, columns = shape
    left, right = torch.randn(rows, inner).double(), torch.randn(columns, inner).double()
    core = singular_values(product_core(left, right))
    product = singular_values(left @ right.T)
    n = min(shape)
    torch.testing.assert_close(core[:n], product[:n])
    assert core[n:].sum() < 1e-13 and product[n:].sum() < 1e-13


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: singular_values(torch.ones(3)), ValueError, r"matrix must have shape .*, got \(3,\)"),
        (lambda: effective_rank(torch.tensor([[1.0, math.nan]])), ValueError, "matrix must be finite"),
        (lambda: stable_rank(torch.tensor([[1.0, math.inf]])), ValueError, "matrix must be finite"),
        (lambda: top_share(torch.eye(3), 0), ValueError, "k must be at least 1, got 0"),
        (lambda: top_share(torch.eye(3), 4), ValueError, "k must be at most the number of singular values, 3, got 4"),
        (lambda: top_share(torch.eye(3), 0.5), TypeError, "k must be a whole number, got 0.5"),
        (lambda: effective_rank([[1.0]]), TypeError, "matrix must be a tensor, got list"),
        (lambda: singular_values(torch.full((8, 8), 3e38)), ValueError, "singular values overflow torch.float32"),
    ],
)
def test_what_has_no_spectrum_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
