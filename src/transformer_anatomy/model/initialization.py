"""How a stack's weights start."""

from torch import nn


def initialize(model: nn.Module) -> None:
    """Draw new weights: linear maps Xavier-uniform (Glorot and Bengio 2010) with bias 0, embeddings normal.

    Token vectors start with variance 1/d_model, so that they have length 1, or √d_model once scaled; learned
    positions start as large as the token vectors that they are added to. Norms start as the identity.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
