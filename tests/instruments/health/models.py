"""Small models and losses for the tests of `examine`."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import Encoder, TransformerConfig

VOCAB_SIZE = 50


class LanguageModel(nn.Module):
    """Our encoder and a map to the vocabulary."""

    def __init__(self, *, d_model=64, n_heads=4, n_layers=6, **choices):
        super().__init__()
        sizes = {"d_model": d_model, "n_heads": n_heads, "n_layers": n_layers, "d_feedforward": 2 * d_model}
        self.encoder = Encoder(TransformerConfig(VOCAB_SIZE, **sizes, **choices))
        self.head = nn.Linear(d_model, VOCAB_SIZE)
        nn.init.xavier_uniform_(self.head.weight)

    def forward(self, ids, mask=None):
        return self.head(self.encoder(ids, mask))


class TorchModel(nn.Module):
    """PyTorch's encoder between an embedding and a map to the vocabulary."""

    def __init__(self, *, d_model=64, n_heads=4, n_layers=6, batch_first=True, **choices):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, d_model)
        layer = nn.TransformerEncoderLayer(d_model, n_heads, 2 * d_model, batch_first=batch_first, **choices)
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.head = nn.Linear(d_model, VOCAB_SIZE)
        self.batch_first = batch_first

    def forward(self, ids, **masks):
        x = self.embedding(ids)
        x = self.encoder(x if self.batch_first else x.transpose(0, 1), **masks)
        return self.head(x if self.batch_first else x.transpose(0, 1))


def tokens(batch=8, n=24):
    """Random token ids, `(batch, n)`."""
    return torch.randint(0, VOCAB_SIZE, (batch, n))


def prediction_loss(*inputs, n=24):
    """Cross-entropy of random targets for random ids; `inputs` are handed to the model, too."""
    ids, targets = tokens(n=n), tokens(n=n)
    return lambda model: F.cross_entropy(model(ids, *inputs).flatten(0, 1), targets.flatten())
