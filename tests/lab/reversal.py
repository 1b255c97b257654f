"""The run that the tests of this room train: a small Transformer that learns to reverse."""

import torch

from transformer_anatomy import Transformer, TransformerConfig, fit, token_loss

START, N_SYMBOLS = 0, 7


def model(seed=0, *, dtype=torch.float32, **choices):
    torch.manual_seed(seed)
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_feedforward": 16, "max_length": 8}
    config = TransformerConfig(1 + N_SYMBOLS, norm="pre", **{**sizes, "dropout": 0.1, "tie_weights": True, **choices})
    return Transformer(config).to(dtype)


def batches(generator, n=8):
    source = torch.randint(1, 1 + N_SYMBOLS, (n, 4), generator=generator)
    return source, torch.cat([torch.full((n, 1), START), source.flip(1)], dim=1)


def loss(model, batch):
    source, target = batch
    return token_loss(model(source, target[:, :-1]), target[:, 1:])


def evaluate(model):
    return {"validation": loss(model, batches(torch.Generator().manual_seed(9))).item()}


def train(model, **choices):
    settings = {"n_steps": 12, "warmup": 2, "evaluate": evaluate, "evaluate_every": 5}
    return fit(model, **{"batches": batches, "loss": loss, **settings, **choices})


def weights(model):
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def assert_same(one, other):
    """Bitwise, and of the same names."""
    assert one.keys() == other.keys()
    assert not [name for name in one if not torch.equal(one[name], other[name])]
