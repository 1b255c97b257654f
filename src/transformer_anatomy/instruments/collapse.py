"""Whether the tokens of a sample still differ, and how much each branch writes into the stream.

Streams have shape `(..., batch, position, d_model)`: `(batch, position, d_model)`, or with a layer axis first. The one
convention for padding is that of the library: `mask` is a `padding_mask`, `(batch, 1, 1, position)`, and tokens that it
hides are left out, whatever they hold. All figures come in float32, or in float64 for a float64 stream.
"""

import re

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_anatomy.instruments.recording import Trace
from transformer_anatomy.instruments.spectra import effective_count, singular_values
from transformer_anatomy.model.masks import check_boolean
from transformer_anatomy.shapes import Mask

Streams = Float[Tensor, "*samples position d_model"]
PerSample = Float[Tensor, "*samples"]  # one number for each sample, in each layer if there is a layer axis

BRANCHES = ("self_attention", "feedforward")
ROUNDINGS = 4  # Layers that collapse leave equal tokens with differences of 1 to 2 machine epsilons in each direction.


def token_similarity(stream: Streams, mask: Mask | None = None) -> PerSample:
    """Mean cosine between two different tokens of a sample: 1 if all point the same way, near 0 if they share nothing.

    Computed from the sum `s` of the `n` unit vectors, without their `n` × `n` cosines: `(s·s - n) / (n·(n - 1))`.

    Raises `ValueError` for a sample with fewer than two tokens and for a token of zeros, which has no direction: a NaN
    would spoil every mean over samples, and any number would pass for healthy or for sick.
    """
    tokens, real = _read(stream, mask, n_least=2)
    largest = tokens.abs().amax(dim=-1, keepdim=True)
    if ((largest[..., 0] == 0) & real).any():
        raise ValueError("stream has a token of zeros, which has no direction: measure distance_to_collapse instead")
    scaled = tokens / largest.masked_fill(largest == 0, 1.0)  # Squares of what is left of a collapse would vanish.
    units = scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True).clamp(min=1.0)  # Only padding has less.
    n = real.sum(dim=-1)
    return (units.sum(dim=-2).square().sum(dim=-1) - n) / (n * (n - 1))


def distance_to_collapse(stream: Streams, mask: Mask | None = None) -> PerSample:
    """How far a sample's tokens are from all being the same: `‖X - 1·meanᵀ‖_F / ‖X‖_F`, 0 when they are, at most 1.

    The mean token is the nearest `x` of all `1·xᵀ`, so this is the residual of Dong et al. 2021 in the Frobenius norm.
    A stream of zeros gives 0. It cannot tell less than about one machine epsilon from 0: follow a collapse in float64.

    Raises `ValueError` for a sample with fewer than two tokens.
    """
    tokens, real = _read(stream, mask, n_least=2)
    tokens = _in_units_of_the_largest(tokens)
    norm = _norm(tokens)
    return _norm(_differences(tokens, real)) / norm.masked_fill(norm == 0, 1.0)


def stream_rank(stream: Streams, mask: Mask | None = None) -> PerSample:
    """In how many directions a sample's tokens differ: `effective_rank` of `X - 1·meanᵀ`, 0 when all are the same.

    What all tokens share counts as no direction: it would be the one that is left when they collapse (Dong et al.
    2021). Singular values up to 4 machine epsilons of `‖X‖_F` count as 0: the rounding of equal tokens has full rank
    and would look like health. In bfloat16 that hides differences of 3 %, so record in float32 or float64.

    Raises `ValueError` for a sample with fewer than two tokens.
    """
    tokens, real = _read(stream, mask, n_least=2)
    tokens = _in_units_of_the_largest(tokens)
    values = singular_values(_differences(tokens, real))
    rounding = ROUNDINGS * torch.finfo(stream.dtype).eps * _norm(tokens)
    return effective_count(values.masked_fill(values <= rounding[..., None], 0.0))


def write_ratio(update: Streams, stream: Streams, mask: Mask | None = None) -> PerSample:
    """How much a branch writes, `‖update‖_F / ‖stream‖_F` over a sample's tokens; `stream` is what it is added to.

    Raises `ValueError` for shapes that differ, a sample without tokens, and a stream of zeros.
    """
    if update.shape != stream.shape:
        raise ValueError(f"update must have the shape of stream, {tuple(stream.shape)}, got {tuple(update.shape)}")
    written, before = (_read(tensor, mask, n_least=1)[0] for tensor in (update, stream))
    largest = before.abs().amax(dim=(-2, -1), keepdim=True)
    if (largest == 0).any():
        raise ValueError("stream is zero for a whole sample: no update is any multiple of it")
    return _norm(written / largest) / _norm(before / largest)


def write_ratios(trace: Trace, branch: str, mask: Mask | None = None) -> Float[Tensor, "layer batch"]:
    """`write_ratio` of `branch`, "self_attention" or "feedforward", in each layer whose update was recorded.

    Self-attention writes into `embedded` or the stream of the layer before, the feed-forward branch into `mid_stream`.
    Raises `ValueError` for another branch, `KeyError` for a place that was not recorded.
    """
    if branch not in BRANCHES:
        raise ValueError(f"branch must be {' or '.join(map(repr, BRANCHES))}, got {branch!r}")
    matches = [re.fullmatch(rf"layers\.(\d+)\.{branch}\.update", name) for name in trace.names()]
    layers = [int(match[1]) for match in matches if match] or [0]  # Without any, the trace says what it holds instead.
    updates = torch.stack([trace[f"layers.{i}.{branch}.update"] for i in layers])
    if branch == "self_attention":
        places = [f"layers.{i - 1}.stream" if i else "embedded" for i in layers]
    else:
        places = [f"layers.{i}.mid_stream" for i in layers]
    return write_ratio(updates, torch.stack([trace[place] for place in places]), mask)


def _read(stream: Streams, mask: Mask | None, *, n_least: int) -> tuple[Streams, Bool[Tensor, "*samples position"]]:
    """The tokens, zero where they are padding, and which of them are real."""
    if not stream.is_floating_point():
        raise TypeError(f"stream must hold floating-point numbers, got {stream.dtype}")
    if stream.dim() < 3 or stream.shape[-1] == 0:
        raise ValueError(f"stream must have shape (..., batch, position, d_model), got {tuple(stream.shape)}")
    batch, n = stream.shape[-3:-1]
    real = torch.ones(batch, n, dtype=torch.bool, device=stream.device)
    if mask is not None:
        check_boolean(mask)
        if mask.shape not in ((batch, 1, 1, n), (1, 1, 1, n)):
            raise ValueError(f"mask must be a padding mask of shape {(batch, 1, 1, n)}, got {tuple(mask.shape)}")
        real = real & mask[:, 0, 0]
    n_tokens = real.sum(dim=-1)
    if n < n_least or (n_tokens < n_least).any():
        raise ValueError(f"each sample must have at least {n_least} tokens, got {n_tokens.tolist()} of {n} positions")
    tokens = stream.masked_fill(~real[..., None], 0.0)
    if not tokens.isfinite().all():
        raise ValueError("stream must be finite, got tokens that are infinite or NaN")
    return tokens.to(torch.promote_types(stream.dtype, torch.float32)), real.expand(stream.shape[:-1])


def _differences(tokens: Streams, real: Bool[Tensor, "*samples position"]) -> Streams:
    """The tokens minus their mean, zero where they are padding."""
    mean = tokens.sum(dim=-2, keepdim=True) / real.sum(dim=-1)[..., None, None]
    return (tokens - mean).masked_fill(~real[..., None], 0.0)


def _in_units_of_the_largest(tokens: Streams) -> Streams:
    """Each sample divided by its largest entry, so that the squares of a stream that fades out do not vanish."""
    largest = tokens.abs().amax(dim=(-2, -1), keepdim=True)
    return tokens / largest.masked_fill(largest == 0, 1.0)


def _norm(tokens: Streams) -> PerSample:
    return torch.linalg.vector_norm(tokens, dim=(-2, -1))
