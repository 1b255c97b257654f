"""From the vectors of its tokens to one vector for a sentence."""

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.model.masks import check_boolean, check_sample_mask, visible_keys
from transformer_anatomy.shapes import Mask, Stream


def mean_pool(stream: Stream, mask: Mask | None = None) -> Float[Tensor, "batch d_model"]:
    """The mean over the real tokens of each sample, `(batch, d_model)`; padding does not count.

    `mask` is the one that the encoder was given. A sample without a real token gets zeros. The sum is taken in float32
    at least. Raises `ValueError` for a stream or a mask of another shape.
    """
    if stream.dim() != 3:
        raise ValueError(f"stream must be (batch, position, d_model), got {tuple(stream.shape)}")
    batch, n, _ = stream.shape
    wide = stream if stream.dtype == torch.float64 else stream.float()
    if mask is None:
        return (wide.sum(dim=1) / max(1, n)).to(stream.dtype)
    check_boolean(mask)
    check_sample_mask(mask, (batch, mask.shape[1] if mask.dim() == 4 else 1, n, n))
    real = visible_keys(mask)[:, 0, 0, :, None].expand(batch, n, 1)
    return (wide.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1).clamp(min=1)).to(stream.dtype)
