"""How many directions a matrix uses: its singular values and what they say of it."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.instruments.attention import attention_entropy
from transformer_anatomy.instruments.precision import at_least_single
from transformer_anatomy.model.arguments import check_count, check_tensor

Matrix = Float[Tensor, "*batch rows columns"]
PerMatrix = Float[Tensor, "*batch"]  # one number for each matrix


def singular_values(matrix: Matrix) -> Float[Tensor, "*batch rank"]:
    """The `min(rows, columns)` singular values of each matrix, the largest first; half precision gives float32.

    Raises `ValueError` for a tensor without rows and columns, for entries that are not finite, and where the result
    would not be.
    """
    _check_matrix(matrix)
    values = torch.linalg.svdvals(at_least_single(matrix))
    if not values.isfinite().all():
        raise ValueError(f"matrix is too large: its singular values overflow {values.dtype}; scale it down")
    return values


def effective_rank(matrix: Matrix) -> PerMatrix:
    """How many directions count: `exp(-Σ p·ln p)`, where `p` are the singular values divided by their sum.

    Between 1 (one direction) and the rank (all alike); 0 for a matrix of zeros. The singular values themselves, not
    their squares (Roy and Vetterli 2007).
    """
    return effective_count(_relative_values(matrix))


def effective_count(amounts: Float[Tensor, "*batch n"]) -> PerMatrix:
    """How many of the `amounts`, none of them negative, count: the exponential of the entropy of their shares, or 0."""
    total = amounts.sum(dim=-1, keepdim=True)
    shares = amounts / total.masked_fill(total == 0, 1.0)
    return attention_entropy(shares).exp().masked_fill(total[..., 0] == 0, 0.0)


def stable_rank(matrix: Matrix) -> PerMatrix:
    """`‖A‖_F² / ‖A‖₂²`: the sum of the squared singular values in units of the largest (Rudelson and Vershynin 2007).

    Between 1 and the rank; 0 for a matrix of zeros. Unlike the rank it hardly moves when small ones join.
    """
    return _relative_values(matrix).square().sum(dim=-1)


def top_share(matrix: Matrix, k: int) -> PerMatrix:
    """The share of the squared singular values that the `k` largest hold: 1 up to rank `k`, 0 for a matrix of zeros.

    Squares, because they add up to something: `‖A‖_F²`, what the matrix makes of inputs from all directions alike, and
    the share is how much of it the best matrix of rank `k` keeps (Eckart and Young 1936). It is large for small
    matrices already: read it beside `random_baseline`.

    Raises `TypeError` or `ValueError` unless `k` is a whole number from 1 to `min(rows, columns)`.
    """
    squares = _relative_values(matrix).square()
    check_count("k", k, at_least=1)
    if k > squares.shape[-1]:
        raise ValueError(f"k must be at most the number of singular values, {squares.shape[-1]}, got {k}")
    total = squares.sum(dim=-1)
    return squares[..., :k].sum(dim=-1) / total.masked_fill(total == 0, 1.0)


def product_core(
    left: Float[Tensor, "*batch rows inner"], right: Float[Tensor, "*batch columns inner"]
) -> Float[Tensor, "*batch core_rows core_columns"]:
    """A matrix at most `inner` wide with the singular values of `left @ rightᵀ`, but for zeros.

    With `left = Q₁·R₁` and `right = Q₂·R₂` it is `R₁·R₂ᵀ`: the orthogonal factors turn, they do not stretch.
    """
    return torch.linalg.qr(left, mode="r").R @ torch.linalg.qr(right, mode="r").R.transpose(-2, -1)


def _relative_values(matrix: Matrix) -> Float[Tensor, "*batch rank"]:
    """Singular values in units of the largest one, so that neither their sum nor their squares overflow or vanish."""
    _check_matrix(matrix)
    # No matrix is too large or too small either, once its largest entry is 1; one without entries has no largest.
    matrix = at_least_single(matrix)
    largest = matrix.detach().abs().amax(dim=(-2, -1), keepdim=True) if matrix.numel() else matrix.new_ones(())
    values = torch.linalg.svdvals(matrix / largest.masked_fill(largest == 0, 1.0))
    return values / values[..., :1].clamp(min=torch.finfo(values.dtype).tiny)  # 0 only where all of them are


def _check_matrix(matrix: Matrix) -> None:
    check_tensor("matrix", matrix)
    if matrix.dim() < 2:
        raise ValueError(f"matrix must have shape (..., rows, columns), got {tuple(matrix.shape)}")
    if not matrix.isfinite().all():
        raise ValueError("matrix must be finite, got entries that are infinite or NaN")
