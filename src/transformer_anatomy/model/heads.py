"""The projected features of a token, cut into heads and put together again."""

from transformer_anatomy.model.arguments import check_heads
from transformer_anatomy.shapes import Heads, Stream


def split_heads(x: Stream, n_heads: int) -> Heads:
    """`(batch, position, d_model)` to `(batch, head, position, d_head)`: head `h` gets the `h`-th slice of features."""
    if x.dim() != 3:
        raise ValueError(f"x must have shape (batch, position, d_model), got {tuple(x.shape)}")
    batch, position, d_model = x.shape
    check_heads(d_model, n_heads)
    return x.reshape(batch, position, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x: Heads) -> Stream:
    """`(batch, head, position, d_head)` to `(batch, position, d_model)`, the inverse of `split_heads`."""
    if x.dim() != 4:
        raise ValueError(f"x must have shape (batch, head, position, d_head), got {tuple(x.shape)}")
    return x.transpose(1, 2).flatten(start_dim=2)
