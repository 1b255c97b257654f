"""Scaled dot-product attention: the formulas, then the module (Vaswani et al. 2017, section 3.2)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_anatomy.model.masks import check_mask
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Heads, Keys, Mask, Memory, Mixed, Queries, Scores, Stream, Values, Weights


def attention_scores(queries: Queries, keys: Keys) -> Scores:
    """How well each query matches each key: `queries · keysᵀ / √d_head`, of shape `(..., query, key)`.

    The root keeps the variance of a score at 1 when the entries of queries and keys are independent with variance 1.
    """
    d_head = queries.shape[-1]
    if d_head != keys.shape[-1] or d_head == 0:
        raise ValueError(f"queries and keys must have the same width, at least 1, got {d_head} and {keys.shape[-1]}")
    try:
        torch.broadcast_shapes(queries.shape[:-2], keys.shape[:-2])
    except RuntimeError:
        shapes = f"{tuple(queries.shape)} and {tuple(keys.shape)}"
        raise ValueError(f"queries and keys must agree in their leading axes, got shapes {shapes}") from None
    # Dividing the queries rather than the product keeps float16 from overflowing on the way.
    return queries / math.sqrt(d_head) @ keys.transpose(-2, -1)


def attention_weights(scores: Scores, mask: Mask | None = None, *, temperature: float = 1.0) -> Weights:
    """Softmax of `scores / temperature` over the keys that `mask` allows: each row sums to 1.

    A row that may attend to nothing gets weights of exactly 0, and gradients of exactly 0, in every floating dtype.

    Raises `TypeError` for a mask that is not boolean, `ValueError` for one that does not broadcast to the scores and
    for a temperature that is not a finite number above 0.
    """
    try:
        usable = math.isfinite(temperature) and temperature > 0
    except TypeError:
        usable = False
    if not usable:
        raise ValueError(f"temperature must be a finite number above 0, got {temperature!r}")
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
    sees_nothing = ~mask.any(dim=-1, keepdim=True)
    mixed = F.scaled_dot_product_attention(queries, keys, values, torch.atleast_2d(mask | sees_nothing), dropout)
    return mixed.masked_fill(sees_nothing, 0.0)


def split_heads(x: Stream, n_heads: int) -> Heads:
    """`(batch, position, d_model)` to `(batch, head, position, d_head)`: head `h` gets the `h`-th slice of features."""
    if x.dim() != 3:
        raise ValueError(f"x must have shape (batch, position, d_model), got {tuple(x.shape)}")
    batch, position, d_model = x.shape
    _check_heads(d_model, n_heads)
    return x.reshape(batch, position, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x: Heads) -> Stream:
    """`(batch, head, position, d_head)` to `(batch, position, d_model)`, the inverse of `split_heads`."""
    if x.dim() != 4:
        raise ValueError(f"x must have shape (batch, head, position, d_head), got {tuple(x.shape)}")
    return x.transpose(1, 2).flatten(start_dim=2)


class MultiHeadAttention(nn.Module):
    """Attention by `n_heads` heads side by side, each on its own slice of `d_model // n_heads` features.

    Taps, in the order of the computation: `queries`, `keys`, `values`, `scores` (before softmax), `weights` (after
    softmax, before dropout), `mixed` (what each head read), `update` (the output). When nobody watches `scores` or
    `weights` they are never formed: `F.scaled_dot_product_attention` does the same (a GPU then draws other dropout).

    Raises `ValueError` for sizes below 1, heads that do not divide the width, and a dropout outside [0, 1).
    """

    def __init__(self, *, d_model: int, n_heads: int, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        _check_heads(d_model, n_heads)
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
        self.d_model, self.n_heads, self.dropout = d_model, n_heads, dropout
        self.query_projection = nn.Linear(d_model, d_model, bias=bias)
        self.key_projection = nn.Linear(d_model, d_model, bias=bias)
        self.value_projection = nn.Linear(d_model, d_model, bias=bias)
        self.output_projection = nn.Linear(d_model, d_model, bias=bias)
        self.queries, self.keys, self.values = Tap(), Tap(), Tap()
        self.scores, self.weights, self.mixed, self.update = Tap(), Tap(), Tap(), Tap()

    def forward(self, x: Stream, memory: Memory | None = None, mask: Mask | None = None) -> Stream:
        """The update `(batch, query, d_model)`. Keys and values are read from `memory`, or from `x` itself.

        `mask` is boolean, True where a query may attend to a key, and broadcasts to `(batch, head, query, key)`; a
        query that may attend to nothing reads 0. Raises `ValueError` for a wrong shape, `TypeError` for a wrong dtype.
        """
        memory = x if memory is None else memory
        self._check_input(x, memory, mask)
        queries = self.queries(split_heads(self.query_projection(x), self.n_heads))
        keys = self.keys(split_heads(self.key_projection(memory), self.n_heads))
        values = self.values(split_heads(self.value_projection(memory), self.n_heads))
        dropout = self.dropout if self.training else 0.0
        if self.scores.watched or self.weights.watched:
            scores = self.scores(attention_scores(queries, keys))
            weights = self.weights(attention_weights(scores, mask))
            mixed = F.dropout(weights, dropout) @ values
        else:
            mixed = fused_attention(queries, keys, values, mask, dropout=dropout)
        return self.update(self.output_projection(merge_heads(self.mixed(mixed))))

    def _check_input(self, x: Stream, memory: Memory, mask: Mask | None) -> None:
        dtype = self.query_projection.weight.dtype
        for name, tensor in (("x", x), ("memory", memory)):
            if tensor.dim() != 3 or tensor.shape[-1] != self.d_model:
                raise ValueError(f"{name} must be (batch, position, {self.d_model}), got {tuple(tensor.shape)}")
            if tensor.dtype != dtype and not _autocast_converts(tensor, dtype):
                raise TypeError(f"{name} is {tensor.dtype} but this module computes in {dtype}; convert one of them")
        if memory.shape[0] != x.shape[0]:
            raise ValueError(f"memory must have the batch size of x, {x.shape[0]}, got {memory.shape[0]}")
        if mask is not None:
            check_mask(mask, (x.shape[0], self.n_heads, x.shape[1], memory.shape[1]))
            if mask.dim() == 3:  # Broadcasting would read (batch, query, key) as (head, query, key) without a word.
                raise ValueError(
                    f"mask of shape {tuple(mask.shape)} could mean samples or heads: "
                    "write mask[:, None] for one mask a sample, mask[None] for one a head"
                )


def _autocast_converts(tensor: Tensor, dtype: torch.dtype) -> bool:
    converted = {torch.float32, torch.float16, torch.bfloat16}
    return torch.is_autocast_enabled(tensor.device.type) and {tensor.dtype, dtype} <= converted


def _check_heads(d_model: int, n_heads: int) -> None:
    for name, size in (("d_model", d_model), ("n_heads", n_heads)):
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}")
    if d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, got n_heads = {n_heads} and d_model = {d_model}")
