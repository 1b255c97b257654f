"""Models with nothing wrong, about which `examine` has to say so."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.instruments.health.models import VOCAB_SIZE, LanguageModel, TorchModel, prediction_loss, tokens
from transformer_anatomy import Transformer, TransformerConfig, causal_mask, mean_pool, padding_mask, token_loss
from transformer_anatomy.lab.patients import Case


def ours(*inputs, n=24, **choices):
    model = LanguageModel(**choices)
    return Case(model, prediction_loss(*inputs, n=n), torch.optim.Adam(model.parameters(), lr=1e-3))


def in_torch(**choices):
    model = TorchModel(**choices)
    return Case(model, prediction_loss(), torch.optim.AdamW(model.parameters(), lr=1e-3))


def left_padded():
    padding = padding_mask([24, 20, 12, 8, 4, 3, 2, 1], 24).flip(-1)
    return ours(padding & causal_mask(24), norm="pre")


def half_precision():
    ids, targets = tokens(), tokens()
    return Case(TorchModel().bfloat16(), lambda m: F.cross_entropy(m(ids).float().flatten(0, 1), targets.flatten()))


def autocast():
    loss = prediction_loss()

    def cast(model):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return loss(model).float()

    return Case(TorchModel(norm_first=True), cast)


def contrastive():
    ids, mask = tokens(), padding_mask([24, 20, 16, 12, 10, 8, 6, 4], 24)

    def loss(model):
        pooled = F.normalize(mean_pool(model.encoder(ids, mask), mask), dim=-1)
        return F.cross_entropy(pooled @ pooled.T / 0.05, torch.arange(8)) - 10  # a loss may be negative

    model = LanguageModel(norm="pre")
    model.head = nn.Identity()
    return Case(model, loss)


def regression():
    ids, targets = tokens(), torch.randn(8)
    return Case(LanguageModel(), lambda model: F.mse_loss(model(ids).mean(dim=1)[:, 0], targets))


def encoder_and_decoder():
    ids, targets = tokens(), tokens()
    model = Transformer(TransformerConfig(VOCAB_SIZE, d_model=64, n_heads=4, n_layers=3, d_feedforward=128))
    return Case(model, lambda model: token_loss(model(ids, targets[:, :-1]), targets[:, 1:]))


def convolutions():
    blocks = [nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(3)]
    model = nn.Sequential(nn.Conv2d(3, 8, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))
    return Case(model, classification_loss(torch.randn(16, 3, 8, 8)))


def perceptron():
    layers = [part for _ in range(4) for part in (nn.Linear(64, 64), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(64, 4))
    return Case(model, classification_loss(torch.randn(64, 64)), torch.optim.SGD(model.parameters(), lr=0.1))


class Recurrent(nn.Module):
    """Two recurrent layers in a list."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, 32)
        self.layers = nn.ModuleList(nn.LSTM(32, 32, batch_first=True) for _ in range(2))
        self.head = nn.Linear(32, VOCAB_SIZE)

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x, _ = layer(x)
        return self.head(x)


def classification_loss(inputs):
    targets = torch.randint(0, 4, (len(inputs),))
    return lambda model: F.cross_entropy(model(inputs), targets)


HEALTHY = {
    "post-norm": ours,
    "post-norm, 12 layers": lambda: ours(n_layers=12),
    "pre-norm, 24 layers": lambda: ours(n_layers=24, norm="pre"),
    "narrow and causal": lambda: ours(causal_mask(24), d_model=32),
    "wide, 256 tokens": lambda: ours(n=256, d_model=256, n_layers=2),
    "4 tokens": lambda: ours(n=4),
    "1 token": lambda: ours(n=1),
    "dropout, GELU": lambda: ours(dropout=0.1, activation="gelu"),
    "left padding": left_padded,
    "nn.TransformerEncoder": in_torch,
    "nn.TransformerEncoder, sequence first": lambda: in_torch(batch_first=False),
    "nn.TransformerEncoder, pre-norm": lambda: in_torch(norm_first=True),
    "float64": lambda: Case(TorchModel().double(), prediction_loss()),
    "bfloat16": half_precision,
    "autocast": autocast,
    "contrastive, below 0": contrastive,
    "regression": regression,
    "encoder and decoder": encoder_and_decoder,
    "convolutions": convolutions,
    "perceptron": perceptron,
    "recurrent layers": lambda: Case(Recurrent(), prediction_loss()),
}
