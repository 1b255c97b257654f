"""How a stack's weights start."""

from torch import nn

from transformer_anatomy.model.embedding import Embedding
from transformer_anatomy.model.positions import LearnedPositions


def initialize(model: nn.Module) -> None:
    """Draw new weights: linear maps Xavier-uniform (Glorot and Bengio 2010) with bias 0, embeddings normal.

    The entries of a token's vector start with variance 1/d_model, so that it has length 1, or √d_model once scaled;
    learned positions start as large as the vectors that they are added to. Norms stay as they are: gain 1, offset 0.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, Embedding):
            std = module.tokens.embedding_dim**-0.5
            nn.init.normal_(module.tokens.weight, std=std)
            if isinstance(module.positions, LearnedPositions):
                nn.init.normal_(module.positions.table.weight, std=module.scale * std)
