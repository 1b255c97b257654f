"""Attention by several heads side by side, as a module (Vaswani et al. 2017, section 3.2.2)."""

import torch.nn.functional as F
from torch import nn

from transformer_anatomy.model.arguments import check_heads, check_probability, check_stream
from transformer_anatomy.model.attention import attention_scores, attention_weights, fused_attention
from transformer_anatomy.model.cache import FixedKeys, GrowingKeys
from transformer_anatomy.model.heads import merge_heads, split_heads
from transformer_anatomy.model.masks import check_sample_mask
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Keys, Mask, Memory, Mixed, Queries, Stream, Values


class MultiHeadAttention(nn.Module):
    """Attention by `n_heads` heads side by side, each with queries, keys and values of its own.

    A head's are `d_model // n_heads` wide and projected from *all* features of a token.

    Taps, in the order of the computation: `queries`, `keys`, `values`, `scores` (before softmax), `weights` (after
    softmax, before dropout), `mixed` (what each head read), `update` (the output). When nobody watches `scores` or
    `weights` they are never formed: `F.scaled_dot_product_attention` does the same (a GPU then draws other dropout).

    Raises `ValueError` for sizes below 1, heads that do not divide the width, and a dropout outside [0, 1).
    """

    def __init__(self, *, d_model: int, n_heads: int, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        check_heads(d_model, n_heads)
        check_probability("dropout", dropout)
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.query_projection = nn.Linear(d_model, d_model, bias=bias)
        self.key_projection = nn.Linear(d_model, d_model, bias=bias)
        self.value_projection = nn.Linear(d_model, d_model, bias=bias)
        self.output_projection = nn.Linear(d_model, d_model, bias=bias)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights, self.mixed, self.update = Tap(), Tap(), Tap(), Tap()

    def forward(
        self,
        x: Stream,
        memory: Memory | None = None,
        mask: Mask | None = None,
        cache: GrowingKeys | FixedKeys | None = None,
    ) -> Stream:
        """The update `(batch, query, d_model)`. Keys and values are read from `memory`, or from `x` itself.

        `mask` is boolean, True where a query may attend to a key, and broadcasts to `(batch, head, query, key)`; a
        query that may attend to nothing reads 0. A `cache` adds the keys and values of earlier passes.
        Raises `ValueError` for a wrong shape, `TypeError` for a wrong dtype.
        """
        memory = x if memory is None else memory
        self._check_input(x, memory)
        queries = self.queries(split_heads(self.query_projection(x), self.n_heads))
        keys, values = self.project(memory) if cache is None else cache.read(memory, self.project)
        check_sample_mask(mask, (*queries.shape[:3], keys.shape[2]))
        return self.update(self.output_projection(merge_heads(self.mixed(self._mix(queries, keys, values, mask)))))

    def project(self, memory: Memory) -> tuple[Keys, Values]:
        """The keys and the values that `memory` offers, each `(batch, head, key, d_head)`."""
        keys = self.keys(split_heads(self.key_projection(memory), self.n_heads))
        values = self.values(split_heads(self.value_projection(memory), self.n_heads))
        return keys, values

    def _mix(self, queries: Queries, keys: Keys, values: Values, mask: Mask | None) -> Mixed:
        dropout = self.dropout if self.training else 0.0
        if not (self.scores.watched or self.weights.watched):
            return fused_attention(queries, keys, values, mask, dropout=dropout)
        scores = self.scores(attention_scores(queries, keys))
        weights = self.weights(attention_weights(scores, mask))
        return F.dropout(weights, dropout) @ values

    def _check_input(self, x: Stream, memory: Memory) -> None:
        dtype = self.query_projection.weight.dtype
        check_stream("x", x, self.d_model, dtype)
        check_stream("memory", memory, self.d_model, dtype)
        if memory.shape[0] != x.shape[0]:
            raise ValueError(f"memory must have the batch size of x, {x.shape[0]}, got {memory.shape[0]}")
