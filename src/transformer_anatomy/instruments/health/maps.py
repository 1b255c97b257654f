"""How spread out a map of attention is, told from its scores, at any length and for any implementation."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_anatomy.instruments.attention import attention_entropy
from transformer_anatomy.instruments.health.thresholds import SATURATED_ENTROPY

N_QUERIES = 64  # looked at in each map, evenly spaced: enough for a mean, few enough for any length
# Masks are written into scores as -inf, the dtype's least number, -1e9 or -1e4; real scores do not reach that far.
HIDDEN = -9e3


class MapFigures(NamedTuple):
    """What one map of attention says in three numbers."""

    entropy: float  # mean over the queries, as a share of the logarithm of the keys they may attend to; nan if none may
    spread: float  # between the quartiles of a query's scores, the median over the queries; nan if not sharp
    blind: float  # share of the queries that may attend to nothing, in the sample where it is largest

    def worse(self, other: "MapFigures") -> "MapFigures":
        """The sharper of the two, with the larger share of blind queries."""
        sharper = min(self, other, key=lambda figures: math.inf if math.isnan(figures.entropy) else figures.entropy)
        return sharper._replace(blind=max(self.blind, other.blind))


def map_figures(scores: Tensor) -> MapFigures:
    """The figures of scores `(batch, head, query, key)` or `(map, query, key)` with the mask written in."""
    if scores.shape[-2] > N_QUERIES:
        scores = scores[..., some_rows(scores.shape[-2]), :]
    scores = scores.detach().float()
    may_see = visible(scores)
    n_visible = may_see.sum(dim=-1)
    if not n_visible.numel():
        return MapFigures(math.nan, math.nan, 0.0)
    blind = (n_visible == 0).float().flatten(start_dim=1).mean(dim=1).max().item()
    choosing = n_visible > 1
    if not choosing.any():
        return MapFigures(math.nan, math.nan, blind)
    weights = scores.softmax(dim=-1)
    entropy = (attention_entropy(weights.nan_to_num()) / n_visible.clamp(min=2).log())[choosing].mean().item()
    sharp = entropy < SATURATED_ENTROPY  # sorting takes longer than all the rest
    return MapFigures(entropy, _spread(scores[choosing], may_see[choosing]) if sharp else math.nan, blind)


def visible(scores: Tensor) -> Tensor:
    """Which keys a query may attend to, told from scores with the mask written in; NaN is not hidden."""
    return ~(scores.detach() <= HIDDEN)


def _spread(scores: Tensor, may_see: Tensor) -> float:
    """Between the quartiles of the visible scores of each row, the median over the rows."""
    ordered = scores.masked_fill(~may_see, math.inf).sort(dim=-1).values
    last = may_see.sum(dim=-1, keepdim=True) - 1
    low, high = (ordered.gather(-1, (last * share).round().long()) for share in (0.25, 0.75))
    return (high - low).median().item()


def fused_scores(given: dict[str, object]) -> Tensor:
    """The scores of the looked-at queries inside a fused attention, `(batch, head, query, key)`, mask written in.

    `given` are the arguments of the operation by name.
    """
    query, key, scale = given["query"].detach(), given["key"].detach(), given.get("scale")
    n_query, n_key = query.shape[-2], key.shape[-2]
    rows = some_rows(n_query).to(query.device)
    if key.shape[1] != query.shape[1]:  # several heads of queries share one of keys
        key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    chosen = query if len(rows) == n_query else query[..., rows, :]
    scores = (query.shape[-1] ** -0.5 if scale is None else scale) * chosen.float() @ key.float().transpose(-2, -1)
    bias = given.get("attn_mask", given.get("attn_bias"))
    if bias is not None:
        bias = bias if bias.shape[-2] == 1 or len(rows) == n_query else bias[..., rows, :]
        scores = scores.masked_fill(~bias, -math.inf) if bias.dtype == torch.bool else scores + bias
    if given.get("is_causal"):
        scores = scores.masked_fill(torch.arange(n_key, device=rows.device) > rows[:, None], -math.inf)
    return scores


def some_rows(n: int) -> Tensor:
    """The queries that are looked at, of `n`."""
    return torch.linspace(0, n - 1, min(n, N_QUERIES)).round().long() if n else torch.empty(0, dtype=torch.long)
