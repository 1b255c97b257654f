"""Residual streams as the measures of `collapse` and `writes` read them.

Streams have shape `(..., batch, position, d_model)`: `(batch, position, d_model)`, or with a layer axis first. The one
convention for padding is that of the library: `mask` is a `padding_mask`, `(batch, 1, 1, position)`, and tokens that it
hides are left out, whatever they hold. All figures come in float32, or in float64 for a float64 stream.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_anatomy.instruments.precision import at_least_single
from transformer_anatomy.model.arguments import check_tensor
from transformer_anatomy.model.masks import check_boolean
from transformer_anatomy.shapes import Mask

Streams = Float[Tensor, "*samples position d_model"]
PerSample = Float[Tensor, "*samples"]  # one number for each sample, in each layer if there is a layer axis
Real = Bool[Tensor, "*samples position"]  # which tokens are no padding


def read_stream(stream: Streams, mask: Mask | None, *, n_least: int, name: str = "stream") -> tuple[Streams, Real]:
    """The tokens, zero where they are padding, and which of them are real.

    Raises `TypeError` or `ValueError`, with the `name` of the argument, for what is no stream, is not finite, or has a
    sample with fewer than `n_least` tokens.
    """
    check_tensor(name, stream)
    if not stream.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, got {stream.dtype}")
    if stream.dim() < 3 or stream.shape[-1] == 0:
        raise ValueError(f"{name} must have shape (..., batch, position, d_model), got {tuple(stream.shape)}")
    batch, n = stream.shape[-3:-1]
    real = torch.ones(batch, n, dtype=torch.bool, device=stream.device)
    if mask is not None:
        check_boolean(mask)
        if mask.shape not in ((batch, 1, 1, n), (1, 1, 1, n)):
            raise ValueError(f"mask must be a padding mask of shape {(batch, 1, 1, n)}, got {tuple(mask.shape)}")
        real = real & mask[:, 0, 0]
    n_tokens = real.sum(dim=-1)
    if n < n_least or (n_tokens < n_least).any():
        tokens = "token" if n_least == 1 else "tokens"
        raise ValueError(f"each sample must have at least {n_least} {tokens}, got {n_tokens.tolist()} of {n} positions")
    tokens = stream.masked_fill(~real[..., None], 0.0)
    if not tokens.isfinite().all():
        raise ValueError(f"{name} must be finite, got tokens that are infinite or NaN")
    return at_least_single(tokens), real.expand(stream.shape[:-1])


def in_units_of_the_largest(tokens: Streams) -> tuple[Streams, PerSample]:
    """Each sample divided by its largest entry, so that no square overflows or vanishes, and these entries."""
    largest = tokens.abs().amax(dim=(-2, -1))
    return tokens / largest.masked_fill(largest == 0, 1.0)[..., None, None], largest


def size(tokens: Streams) -> PerSample:
    """The Frobenius norm of each sample."""
    return torch.linalg.vector_norm(tokens, dim=(-2, -1))
