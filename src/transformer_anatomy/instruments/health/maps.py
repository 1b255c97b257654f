"""How spread out a map of attention is, told from its scores, at any length and for any implementation."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from transformer_anatomy.instruments.attention import attention_entropy

N_QUERIES = 64  # looked at in each map, evenly spaced: enough for a mean, few enough for any length
# Masks are written into scores as -inf, the dtype's least number, -1e9 or -1e4; real scores do not reach that far.
HIDDEN = -9e3


class MapFigures(NamedTuple):
    """What one map of attention says in two numbers."""

    entropy: float  # mean over the queries, as a share of the logarithm of the keys they may attend to; nan if none may
    blind: float  # share of the queries that may attend to nothing, in the sample where it is largest

    def worse(self, other: "MapFigures") -> "MapFigures":
        """The more pathological of the two, figure by figure."""
        entropies = [entropy for entropy in (self.entropy, other.entropy) if not math.isnan(entropy)]
        return MapFigures(min(entropies, default=math.nan), max(self.blind, other.blind))


def map_figures(scores: Tensor) -> MapFigures:
    """The figures of scores `(..., query, key)` into which the mask is written already."""
    scores = scores[..., _some_rows(scores.shape[-2]), :].detach().float()
    n_visible = (~(scores <= HIDDEN)).sum(dim=-1)  # NaN is not hidden
    blind = (n_visible == 0).float()
    if not blind.numel():
        return MapFigures(math.nan, 0.0)
    per_sample = blind.flatten(start_dim=1).mean(dim=1) if blind.dim() > 1 else blind.mean()
    chosen = n_visible > 1
    entropies = attention_entropy(scores[chosen].softmax(dim=-1)) / n_visible[chosen].log()
    return MapFigures(entropies.mean().item() if chosen.any() else math.nan, per_sample.max().item())


def fused_scores(query: Tensor, key: Tensor, bias: Tensor | None, is_causal: bool, scale: float | None) -> Tensor:
    """The scores of the looked-at queries inside a fused attention, `(batch, head, query, key)`, mask written in."""
    n_query, n_key = query.shape[-2], key.shape[-2]
    rows = _some_rows(n_query)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * query.detach()[..., rows, :].float() @ key.detach().float().transpose(-2, -1)
    if bias is not None:
        scores = scores + (bias if bias.shape[-2] == 1 else bias[..., rows, :])
    if is_causal:
        scores = scores.masked_fill(torch.arange(n_key, device=rows.device) > rows[:, None], -math.inf)
    return scores


def _some_rows(n: int) -> Tensor:
    return torch.linspace(0, n - 1, min(n, N_QUERIES)).round().long() if n else torch.empty(0, dtype=torch.long)
