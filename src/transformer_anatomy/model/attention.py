"""Scaled dot-product attention, as formulas of tensors (Vaswani et al. 2017, section 3.2.1)."""

import math

import torch
import torch.nn.functional as F

from transformer_anatomy.model.arguments import check_positive
from transformer_anatomy.model.masks import check_mask
from transformer_anatomy.shapes import Keys, Mask, Mixed, Queries, Scores, Values, Weights


def attention_scores(queries: Queries, keys: Keys) -> Scores:
    """How well each query matches each key: `queries · keysᵀ / √d_head`, of shape `(..., query, key)`.

    The root keeps the variance of a score at 1 when the entries of queries and keys are independent, with mean 0 and
    variance 1.
    """
    d_head = queries.shape[-1]
    if d_head != keys.shape[-1] or d_head == 0:
        raise ValueError(f"queries and keys must have the same width, at least 1, got {d_head} and {keys.shape[-1]}")
    leading = zip(reversed(queries.shape[:-2]), reversed(keys.shape[:-2]), strict=False)
    if any(q != k and 1 not in (q, k) for q, k in leading):
        shapes = f"{tuple(queries.shape)} and {tuple(keys.shape)}"
        raise ValueError(f"queries and keys must agree in their leading axes, got shapes {shapes}")
    # Dividing the queries rather than the product keeps float16 from overflowing on the way.
    return queries / math.sqrt(d_head) @ keys.transpose(-2, -1)


def attention_weights(scores: Scores, mask: Mask | None = None, *, temperature: float = 1.0) -> Weights:
    """Softmax of `scores / temperature` over the keys that `mask` allows: each row sums to 1.

    A row that may attend to nothing gets weights of exactly 0, and gradients of exactly 0, in every floating dtype.

    Raises `TypeError` for a mask that is not boolean, `ValueError` for one that does not broadcast to the scores and
    for a temperature that is not a finite number above 0.
    """
    check_positive("temperature", temperature)
    if mask is not None:
        check_mask(mask, scores.shape)
        sees_nothing = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(sees_nothing, 0.0)
    if temperature != 1.0 and scores.numel():
        # The shift changes no weight and keeps low temperatures from overflowing; beyond 1e±30 so would a division.
        scores = (scores - scores.amax(dim=-1, keepdim=True).detach()) / min(max(temperature, 1e-30), 1e30)
    weights = scores.softmax(dim=-1)
    return weights if mask is None else weights.masked_fill(sees_nothing, 0.0)


def fused_attention(
    queries: Queries, keys: Keys, values: Values, mask: Mask | None = None, *, dropout: float = 0.0
) -> Mixed:
    """`attention_weights(attention_scores(queries, keys), mask) @ values` in one kernel that never keeps the weights.

    `dropout` applies whatever the mode: pass 0 in evaluation.
    """
    if mask is None:
        return F.scaled_dot_product_attention(queries, keys, values, dropout_p=dropout)
    # Kernels disagree about a row that may attend to nothing: let it see everything, then erase what it read.
    sees_something = mask.any(dim=-1, keepdim=True)
    mixed = F.scaled_dot_product_attention(queries, keys, values, torch.atleast_2d(mask | ~sees_something), dropout)
    return mixed * sees_something  # keeps the layout that `merge_heads` wants, as `masked_fill` would not
