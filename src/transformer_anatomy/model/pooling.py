"""From the vectors of its tokens to one vector for a sentence."""

from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.model.masks import check_boolean, check_sample_mask, visible_keys
from transformer_anatomy.shapes import Mask, Stream


def mean_pool(stream: Stream, mask: Mask | None = None) -> Float[Tensor, "batch d_model"]:
    """The mean over the real tokens of each sample, `(batch, d_model)`; padding does not count.

    `mask` is the one that the encoder was given. A sample without a real token gets zeros.
    """
    if mask is None:
        return stream.sum(dim=1) / max(1, stream.shape[1])
    check_boolean(mask)
    batch, n, _ = stream.shape
    n_heads = mask.shape[1] if mask.dim() == 4 else 1
    check_sample_mask(mask, (batch, n_heads, n, n))
    real = visible_keys(mask)[:, 0, 0, :, None].expand(batch, n, 1)
    return stream.masked_fill(~real, 0.0).sum(dim=1) / real.sum(dim=1).clamp(min=1)
