"""What a map of attention weights says in numbers: in float32 for half precision.

Weights have shape `(..., query, key)`.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.instruments.precision import at_least_single
from transformer_anatomy.model.arguments import check_tensor
from transformer_anatomy.model.masks import relative_positions, window_mask
from transformer_anatomy.shapes import PerQuery, Weights


def attention_entropy(weights: Weights) -> PerQuery:
    """Entropy of each query's weights in nats, `-Σ a·ln a` (Shannon 1948): 0 if all on one key, `ln n` if uniform.

    `0·ln 0` is 0 with a gradient of 0; a row of zeros, which attends to nothing, has entropy 0.
    `weights` are `(..., key)`. Raises `ValueError` for negative ones: it takes weights, not scores.
    """
    check_tensor("weights", weights)
    if (weights < 0).any():
        raise ValueError("weights must not be negative, got scores? attention_entropy takes weights, after softmax")
    weights = at_least_single(weights)
    logs = weights.masked_fill(weights == 0, 1.0).log()
    return 0.0 - (weights * logs).sum(dim=-1)  # A plain minus would print a certain row as -0.


def attention_distance(weights: Weights) -> PerQuery:
    """Mean distance `Σ a·|query - key|` between a query and what it reads, in positions.

    `weights` are `(..., query, key)`; with fewer queries than keys the queries are the last positions, as in
    `causal_mask`. A row of zeros gives 0. Raises `ValueError` for a single row, which has no position.
    """
    n_query, n_key = _map_size(weights)
    distances = relative_positions(n_query, n_key, device=weights.device).abs()
    return (at_least_single(weights) * distances).sum(dim=-1)


def window_mass(weights: Weights, window: int) -> PerQuery:
    """The share of each query's weight that lies on keys at most `window` positions away, between 0 and 1.

    `weights` are `(..., query, key)`, the queries the last positions. A row of zeros gives 0. Raises `TypeError` or
    `ValueError` for a window that is not a whole number from 0.
    """
    n_query, n_key = _map_size(weights)
    near = window_mask(n_query, window, n_key, device=weights.device)
    return (at_least_single(weights) * near).sum(dim=-1)


def softmax_jacobian(weights: Float[Tensor, "... key"]) -> Float[Tensor, "... key key"]:
    """Derivative of the weights by the scores, `diag(a) - a·aᵀ`: entry `(i, j)` is `∂a_i / ∂s_j`.

    At temperature `T` divide it by `T`. Raises `ValueError` for a single number, which has no keys.
    """
    check_tensor("weights", weights)
    if not weights.dim():
        raise ValueError("weights must have shape (..., key), got ()")
    return torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]


def _map_size(weights: Weights) -> tuple[int, int]:
    check_tensor("weights", weights)
    if weights.dim() < 2:
        raise ValueError(f"weights must have shape (..., query, key), got {tuple(weights.shape)}")
    return weights.shape[-2], weights.shape[-1]
