"""What `instruments.attention` says of a map of weights, without the map: for sequences whose map fits nowhere."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from transformer_anatomy.model.arguments import check_count, check_tensor
from transformer_anatomy.model.attention import attention_scores
from transformer_anatomy.model.masks import check_mask
from transformer_anatomy.shapes import Keys, Mask, PerQuery, Queries


@dataclass(frozen=True, eq=False)
class AttentionStatistics:
    """Four numbers for each query, each of shape `(batch, head, query)`; all 0 where a query may attend to nothing.

    `entropy` in nats; `distance`, the mean `|query - key|` in positions; `window_mass`, the share of the weight on keys
    at most `window` positions away; `largest`, the largest weight.
    """

    entropy: PerQuery
    distance: PerQuery
    window_mass: PerQuery
    largest: PerQuery


@torch.no_grad()
def attention_statistics(
    queries: Queries,
    keys: Keys,
    mask: Mask | None = None,
    *,
    causal: bool = False,
    window: int = 3,
    block: int = 1024,
) -> AttentionStatistics:
    """What the weights of `queries` `(..., query, d_head)` on `keys` `(..., key, d_head)` look like, query by query.

    The same as `attention_entropy`, `attention_distance`, `window_mass` and `amax` of the weights, but at most
    `block * block` scores exist at a time, over all heads: memory grows with the length, not with its square. The
    softmax is summed up as the keys pass by (Milakov and Gimelshein 2018). `causal=True` is `causal_mask` without
    its memory; a key must then be allowed by `mask` too. Half precision is computed, and returned, in float32.

    A padding mask hides keys: the rows of padded queries are there, and not to be averaged over.

    Raises `TypeError` for a mask that is not boolean, for queries and keys of different dtypes and for a window or a
    block that is not a whole number; `ValueError` for shapes that do not fit, a window below 0 and a block below 1.
    """
    _check_input(queries, keys, causal, window, block)
    # A product of nothing has the leading axes of the scores, and refuses what the scores would refuse.
    leading = attention_scores(queries[..., :0, :], keys[..., :0, :]).shape[:-2]
    n_query, n_key = queries.shape[-2], keys.shape[-2]
    if mask is not None:
        check_mask(mask, (*leading, n_query, n_key))
        mask = mask.expand(*leading, n_query, n_key)  # A view: a mask keeps the memory it came with.
    queries, keys = (x.expand(*leading, *x.shape[-2:]) for x in (queries, keys))
    dtype = torch.promote_types(queries.dtype, torch.float32)
    statistics = queries.new_zeros(4, *leading, n_query, dtype=dtype)
    with torch.autocast(queries.device.type, enabled=False):
        for sample in _samples(leading, min(n_query, block) * min(n_key, block), block**2):
            for start in range(0, n_query, block):
                rows = slice(start, start + block)
                statistics[(slice(None), *sample, ..., rows)] = _read_keys(
                    queries[(*sample, ..., rows, slice(None))].to(dtype),
                    keys[sample],
                    None if mask is None else mask[(*sample, ..., rows, slice(None))],
                    first=n_key - n_query + start,
                    causal=causal,
                    window=window,
                    block=block,
                )
    return AttentionStatistics(*statistics)


def _read_keys(
    queries: Queries, keys: Keys, mask: Mask | None, *, first: int, causal: bool, window: int, block: int
) -> Tensor:
    """The four statistics, `(4, ..., query)`, of one block of queries, the first of which stands at position `first`.

    `total` sums `exp(score - peak)` where `peak` is the largest score so far, `depth` the same times `score - peak`,
    `distance` and `near` the same times what they are means of. When the peak rises, all of them shrink.
    """
    n_query, n_key, least = queries.shape[-2], keys.shape[-2], torch.finfo(queries.dtype).min
    query_positions = torch.arange(first, first + n_query, dtype=queries.dtype, device=queries.device)
    peak = queries.new_full(queries.shape[:-1], -math.inf)
    total, depth, distance, near = queries.new_zeros(4, *queries.shape[:-1])
    for start in range(0, min(n_key, first + n_query) if causal else n_key, block):
        end = min(start + block, n_key)
        relative = torch.arange(start, end, dtype=queries.dtype, device=queries.device) - query_positions[:, None]
        scores = attention_scores(queries, keys[..., start:end, :].to(queries.dtype))
        if mask is not None:
            scores.masked_fill_(~mask[..., start:end], -math.inf)
        if causal and end - 1 > first:
            scores.masked_fill_(relative > 0, -math.inf)
        risen = torch.maximum(peak, scores.amax(dim=-1))
        base = risen.masked_fill(risen == -math.inf, 0.0)  # Nothing allowed so far: -inf minus -inf would be NaN.
        rise, peak = (peak - base).clamp_(min=least), risen
        shrink = rise.exp()
        below = scores.sub_(base[..., None]).clamp_(min=least)  # Finite, since 0 times -inf would be NaN, too.
        weights = below.exp()
        total, distance, near = total * shrink, distance * shrink, near * shrink
        depth = depth * shrink + total * rise + below.mul_(weights).sum(dim=-1)
        total = total + weights.sum(dim=-1)
        if start <= first + n_query - 1 + window and end - 1 >= first - window:
            near = near + (weights * (relative.abs() <= window)).sum(dim=-1)
        distance = distance + weights.mul_(relative.abs_()).sum(dim=-1)
    # With a = exp(score - peak) / total, -Σ a·ln a is ln(total) - depth / total, two terms of which none is negative.
    statistics = torch.stack([total.log() - depth / total, distance / total, near / total, 1 / total])
    return statistics.masked_fill_(total == 0, 0.0)


def _samples(leading: tuple[int, ...], n_scores: int, limit: int) -> Iterator[tuple[int, ...]]:
    """Indices into the first of the `leading` axes, as few as keep the rest, times `n_scores`, within `limit`."""
    n_axes = 0
    while n_axes < len(leading) and math.prod(leading[n_axes:]) * n_scores > limit:
        n_axes += 1
    return product(*map(range, leading[:n_axes]))


def _check_input(queries: Tensor, keys: Tensor, causal: bool, window: int, block: int) -> None:
    for name, tensor in (("queries", queries), ("keys", keys)):
        check_tensor(name, tensor)
        if tensor.dim() < 2:
            raise ValueError(f"{name} must have shape (..., position, d_head), got {tuple(tensor.shape)}")
    if queries.dtype != keys.dtype or not queries.is_floating_point():
        raise TypeError(f"queries and keys must have one floating dtype, got {queries.dtype} and {keys.dtype}")
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be True or False, got {type(causal).__name__}; a mask goes to mask=")
    check_count("window", window, at_least=0)
    check_count("block", block, at_least=1)
