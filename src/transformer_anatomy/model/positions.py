"""Where a token stands: how positions are counted, and how they are added to the token's vector."""

import torch
from jaxtyping import Int
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_size
from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.masks import visible_keys
from transformer_anatomy.shapes import Features, Mask, Positions, Stream


def count_positions(
    n: int, mask: Mask | None = None, *, offset: int = 0, device: torch.device | None = None
) -> Positions:
    """The positions of `n` tokens that follow `offset` earlier ones, `(batch or 1, n)`, from the first real token on.

    A token that no query of `mask` may attend to, itself included, is padding; on the left it stands at position 0
    and is not counted, so that a sequence has the same positions with and without padding. `mask` broadcasts to
    `(batch, head, query, offset + n)`.
    """
    positions = torch.arange(offset, offset + n, device=device)[None]
    if mask is None or mask.numel() == 0:
        return positions
    n_padding = (~visible_keys(mask)[:, 0, 0]).int().cumprod(dim=-1).sum(dim=-1, keepdim=True)  # on the left
    return (positions - n_padding).clamp(min=0)


def sinusoids(positions: Int[Tensor, "..."], d_model: int) -> Features:
    """Each position as `d_model` sines and cosines of falling frequency, `(..., d_model)` in float32.

    Features 2i and 2i + 1 are sin and cos of `position / 10000^(2i / d_model)` (Vaswani et al. 2017, section 3.5);
    an odd width ends with a sine.
    """
    check_size("d_model", d_model)
    pairs = torch.arange(0, d_model, 2, dtype=torch.float32, device=positions.device)
    angles = positions[..., None] * 10_000.0 ** (-pairs / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(start_dim=-2)[..., :d_model]


class SinusoidalPositions(nn.Module):
    """Adds `sinusoids`. Computed where they are needed, they have no table to outgrow, move, round or save."""

    def forward(self, x: Stream, positions: Positions) -> Stream:
        return x + sinusoids(positions, x.shape[-1]).to(x.dtype)


class LearnedPositions(nn.Module):
    """Adds a vector that was learned for each of `max_length` positions (BERT; Devlin et al. 2019)."""

    def __init__(self, *, max_length: int, d_model: int):
        super().__init__()
        self.table = nn.Embedding(max_length, d_model)

    def forward(self, x: Stream, positions: Positions) -> Stream:
        return x + self.table(positions)


class NoPositions(nn.Module):
    """Adds nothing: without a mask, the order of the tokens is then lost on an encoder."""

    def forward(self, x: Stream, positions: Positions) -> Stream:
        return x


def positions_module(config: TransformerConfig) -> nn.Module:
    """The way of adding positions that `config` asks for; call it with the token vectors and `count_positions`."""
    if config.positions == "learned":
        return LearnedPositions(max_length=config.max_length, d_model=config.d_model)
    return SinusoidalPositions() if config.positions == "sinusoidal" else NoPositions()
