"""Whether the tokens of a sample still differ. Streams and masks are as in `instruments.streams`."""

import torch

from transformer_anatomy.instruments.spectra import effective_count, singular_values
from transformer_anatomy.instruments.streams import PerSample, Real, Streams, in_units_of_the_largest, read_stream, size
from transformer_anatomy.shapes import Mask

ROUNDINGS = 4  # Layers that collapse leave equal tokens with differences of 1 to 2 machine epsilons in each direction.


def token_similarity(stream: Streams, mask: Mask | None = None) -> PerSample:
    """Mean cosine between two different tokens of a sample: 1 if all point the same way, near 0 if they share nothing.

    `stream` is `(..., batch, position, d_model)`; tokens that the padding mask hides are left out.
    Computed from the sum `s` of the `n` unit vectors, without their `n` × `n` cosines: `(s·s - n) / (n·(n - 1))`.

    Raises `ValueError` for a sample with fewer than two tokens and for a token of zeros, which has no direction: a NaN
    would spoil every mean over samples, and any number would pass for healthy or for sick.
    """
    tokens, real = read_stream(stream, mask, n_least=2)
    largest = tokens.abs().amax(dim=-1, keepdim=True)
    if ((largest[..., 0] == 0) & real).any():
        raise ValueError("stream has a token of zeros, which has no direction: measure distance_to_collapse instead")
    scaled = tokens / largest.masked_fill(largest == 0, 1.0)  # Squares of what is left of a collapse would vanish.
    units = scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True).clamp(min=1.0)  # Only padding has less.
    n = real.sum(dim=-1)
    return (units.sum(dim=-2).square().sum(dim=-1) - n) / (n * (n - 1))


def distance_to_collapse(stream: Streams, mask: Mask | None = None) -> PerSample:
    """How far a sample's tokens are from all being the same: `‖X - 1·meanᵀ‖_F / ‖X‖_F`, 0 when they are, at most 1.

    `stream` is `(..., batch, position, d_model)`; tokens that the padding mask hides are left out.
    The mean token is the nearest `x` of all `1·xᵀ`, so this is the residual of Dong et al. 2021 in the Frobenius norm.
    A stream of zeros gives 0. It cannot tell less than about one machine epsilon from 0: follow a collapse in float64.

    Raises `ValueError` for a sample with fewer than two tokens.
    """
    tokens, real = read_stream(stream, mask, n_least=2)
    tokens, _ = in_units_of_the_largest(tokens)
    whole = size(tokens)
    return size(_differences(tokens, real)) / whole.masked_fill(whole == 0, 1.0)


def stream_rank(stream: Streams, mask: Mask | None = None) -> PerSample:
    """In how many directions a sample's tokens differ: `effective_rank` of `X - 1·meanᵀ`, 0 when all are the same.

    `stream` is `(..., batch, position, d_model)`; tokens that the padding mask hides are left out.
    What all tokens share counts as no direction: it would be the one that is left when they collapse (Dong et al.
    2021). Singular values up to 4 machine epsilons of `‖X‖_F` count as 0: the rounding of equal tokens has full rank
    and would look like health. In bfloat16 that hides differences of 3 %, so record in float32 or float64.

    Raises `ValueError` for a sample with fewer than two tokens.
    """
    tokens, real = read_stream(stream, mask, n_least=2)
    tokens, _ = in_units_of_the_largest(tokens)
    values = singular_values(_differences(tokens, real))
    rounding = ROUNDINGS * torch.finfo(stream.dtype).eps * size(tokens)
    return effective_count(values.masked_fill(values <= rounding[..., None], 0.0))


def _differences(tokens: Streams, real: Real) -> Streams:
    """The tokens minus their mean, zero where they are padding."""
    mean = tokens.sum(dim=-2, keepdim=True) / real.sum(dim=-1)[..., None, None]
    return (tokens - mean).masked_fill(~real[..., None], 0.0)
