"""How many directions a matrix uses: its singular values and what they say of it."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.instruments.attention import attention_entropy
from transformer_anatomy.model.arguments import check_count
from transformer_anatomy.model.multi_head_attention import MultiHeadAttention

Matrix = Float[Tensor, "*batch rows columns"]
PerMatrix = Float[Tensor, "*batch"]  # one number for each matrix


def singular_values(matrix: Matrix) -> Float[Tensor, "*batch rank"]:
    """The `min(rows, columns)` singular values of each matrix, the largest first; half precision gives float32.

    Raises `ValueError` for a tensor without rows and columns and for entries that are not finite.
    """
    if matrix.dim() < 2:
        raise ValueError(f"matrix must have shape (..., rows, columns), got {tuple(matrix.shape)}")
    if not matrix.isfinite().all():
        raise ValueError("matrix must be finite, got entries that are infinite or NaN")
    return torch.linalg.svdvals(_at_least_single(matrix))


def effective_rank(matrix: Matrix) -> PerMatrix:
    """How many directions count: `exp(-Σ p·ln p)`, where `p` are the singular values divided by their sum.

    Between 1 (one direction) and the rank (all alike); 0 for a matrix of zeros. The singular values themselves, not
    their squares (Roy and Vetterli 2007).
    """
    return effective_count(singular_values(matrix))


def effective_count(amounts: Float[Tensor, "*batch n"]) -> PerMatrix:
    """How many of the `amounts`, none of them negative, count: the exponential of the entropy of their shares, or 0."""
    total = amounts.sum(dim=-1, keepdim=True)
    return attention_entropy(amounts / total).exp().masked_fill(total[..., 0] == 0, 0.0)


def stable_rank(matrix: Matrix) -> PerMatrix:
    """`‖A‖_F² / ‖A‖₂²`: the sum of the squared singular values in units of the largest (Rudelson and Vershynin 2007).

    Between 1 and the rank; 0 for a matrix of zeros. Unlike the rank it hardly moves when small ones join.
    """
    return _relative_squares(matrix).sum(dim=-1)


def top_share(matrix: Matrix, k: int) -> PerMatrix:
    """The share of the squared singular values that the `k` largest hold: 1 up to rank `k`, 0 for a matrix of zeros.

    Squares, because they add up to something: `‖A‖_F²`, what the matrix makes of inputs from all directions alike, and
    the share is how much of it the best matrix of rank `k` keeps (Eckart and Young 1936). It is large for small
    matrices already: read it beside `random_baseline`.

    Raises `TypeError` or `ValueError` unless `k` is a whole number from 1 to `min(rows, columns)`.
    """
    squares = _relative_squares(matrix)
    check_count("k", k, at_least=1)
    if k > squares.shape[-1]:
        raise ValueError(f"k must be at most the number of singular values, {squares.shape[-1]}, got {k}")
    total = squares.sum(dim=-1)
    return squares[..., :k].sum(dim=-1) / total.masked_fill(total == 0, 1.0)


def head_products(attention: MultiHeadAttention) -> Float[Tensor, "head d_model d_model"]:
    """`W_Q·W_Kᵀ` of each head, outside the graph: without biases `x @ product @ xᵀ / √d_head` are its scores.

    Only the product is a property of the function: any invertible matrix may pass from `W_Q` to `W_K` unnoticed.
    """
    queries, keys = _head_factors(attention)
    return queries @ keys.transpose(-2, -1)


def head_cores(attention: MultiHeadAttention) -> Float[Tensor, "head d_head d_head"]:
    """Small matrices with the singular values of `head_products`, but for zeros: for every measure of this module."""
    return product_core(*_head_factors(attention))


def product_core(
    left: Float[Tensor, "*batch rows inner"], right: Float[Tensor, "*batch columns inner"]
) -> Float[Tensor, "*batch core_rows core_columns"]:
    """A matrix at most `inner` wide with the singular values of `left @ rightᵀ`, but for zeros.

    With `left = Q₁·R₁` and `right = Q₂·R₂` it is `R₁·R₂ᵀ`: the orthogonal factors turn, they do not stretch.
    """
    return torch.linalg.qr(left, mode="r").R @ torch.linalg.qr(right, mode="r").R.transpose(-2, -1)


def _relative_squares(matrix: Matrix) -> Float[Tensor, "*batch rank"]:
    """Squared singular values in units of the largest one, so that no square overflows or vanishes."""
    values = singular_values(matrix)
    largest = values[..., :1]
    return (values / largest.masked_fill(largest == 0, 1.0)).square()


def _head_factors(attention: MultiHeadAttention) -> list[Float[Tensor, "head d_model d_head"]]:
    """`W_Q` and `W_K` of each head, such that its queries are `x @ W_Q` and its keys `x @ W_K`, without biases."""
    if not isinstance(attention, MultiHeadAttention):
        raise TypeError(f"attention must be a MultiHeadAttention, got {type(attention).__name__}")
    weights = [attention.query_projection.weight, attention.key_projection.weight]
    split = [weight.detach().unflatten(0, (attention.n_heads, -1)).transpose(-2, -1) for weight in weights]
    return [_at_least_single(weight) for weight in split]


def _at_least_single(matrix: Tensor) -> Tensor:
    return matrix.to(torch.promote_types(matrix.dtype, torch.float32))
