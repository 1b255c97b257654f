"""From ids to vectors: which token, and where it stands."""

import math

from torch import nn

from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.layer_norm import LayerNorm
from transformer_anatomy.model.positions import positions_module
from transformer_anatomy.shapes import Positions, Stream, TokenIds


class Embedding(nn.Module):
    """What enters the first layer: `dropout(norm(scale · token vector + position))`.

    The scale is √d_model (Vaswani et al. 2017, section 3.4) or 1, and the norm is there or not, as `config` says.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.scale = math.sqrt(config.d_model) if config.scale_embedding else 1.0
        self.tokens = nn.Embedding(config.vocab_size, config.d_model)
        self.positions = positions_module(config)
        self.norm = LayerNorm(config.d_model, eps=config.norm_eps) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: TokenIds, positions: Positions) -> Stream:
        """`(batch, position, d_model)`, for tokens that stand at `positions`, as `count_positions` gives them."""
        return self.dropout(self.norm(self.positions(self.tokens(token_ids) * self.scale, positions)))
