"""Sick models to practise on: twelve with one fault each, and the sound one that they were made of."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.language_model import LanguageModel
from transformer_anatomy.model.masks import padding_mask

VOCAB_SIZE, BATCH, N = 50, 8, 24


class Case(NamedTuple):
    """What `examine` takes: a model, its loss, and an optimiser where the fault needs one to show."""

    model: nn.Module
    loss: Callable[[nn.Module], Tensor]
    optimizer: torch.optim.Optimizer | None = None


class Patient(NamedTuple):
    """`make(**choices)`, the name of the fault that the model then has, and a pattern that its path matches.

    The choices are fields of `TransformerConfig`. Weights and tokens are drawn from PyTorch's random state.
    """

    make: Callable[..., Case]
    fault: str
    where: str


def sound(**choices) -> Case:
    """Nothing wrong: six post-norm layers of width 64 at their start, random ids and targets."""
    return Case(_model(**choices), _loss())


def no_residual(**choices) -> Case:
    """Branches replace the stream instead of adding to it, in twelve layers."""
    return Case(_model(**choices | {"n_layers": 12}, residual=False), _loss())


def no_scale(*, d_model: int = 256, n_heads: int = 4, **choices) -> Case:
    """Scores are not divided by √d_head: queries are as much larger."""
    model = _model(d_model=d_model, n_heads=n_heads, **choices)
    for layer in model.encoder.layers:
        scale_weights(layer.self_attention.query_projection, (d_model // n_heads) ** 0.5)
    return Case(model, _loss())


def sharp_queries(**choices) -> Case:
    """W_Q = W_K = 10·I: every token attends to itself and to nothing else."""
    model = _model(**choices)
    for layer in model.encoder.layers:
        for projection in (layer.self_attention.query_projection, layer.self_attention.key_projection):
            projection.weight.data = 10 * torch.eye(len(projection.weight))
    return Case(model, _loss())


def large_weights(**choices) -> Case:
    """Every matrix starts ten times as large as it should, in a pre-norm model."""
    return Case(scale_weights(_model(norm="pre", **choices), 10), _loss())


def small_weights(**choices) -> Case:
    """Every matrix starts a hundred times as small as it should."""
    return Case(scale_weights(_model(**choices), 0.01), _loss())


def no_norm(**choices) -> Case:
    """No LayerNorm anywhere."""
    return Case(_model(norm="none", **choices), _loss())


def dead_neurons(**choices) -> Case:
    """The biases of the third layer's neurons are so low that none ever fires."""
    model = _model(**choices)
    model.encoder.layers[2].feedforward.hidden_projection.bias.data.fill_(-100)
    return Case(model, _loss())


def detached_branch(**choices) -> Case:
    """A `detach()` keeps the gradient from the feed-forward branch of the fourth layer."""
    model = _model(**choices)
    model.encoder.layers[3].feedforward.register_forward_hook(lambda module, inputs, output: output.detach())
    return Case(model, _loss())


def fast_group(**choices) -> Case:
    """The third layer has a learning rate of its own, a thousand times that of the others."""
    model = _model(**choices)
    fast = list(model.encoder.layers[2].parameters())
    others = [p for p in model.parameters() if all(p is not one for one in fast)]
    optimizer = torch.optim.Adam([{"params": others}, {"params": fast, "lr": 1.0}], lr=1e-3)
    return Case(model, _loss(), optimizer)


def all_hidden(**choices) -> Case:
    """The mask hides every key from every query, as one of the opposite polarity does."""
    return Case(_model(**choices), _loss(padding_mask([0] * BATCH, N)))


def shared_layer(**choices) -> Case:
    """The second layer stands in the fifth place, too."""
    model = _model(**choices)
    model.encoder.layers[4] = model.encoder.layers[1]
    return Case(model, _loss())


def not_a_number(**choices) -> Case:
    """One weight of the fourth layer is NaN."""
    model = _model(**choices)
    model.encoder.layers[3].feedforward.hidden_projection.weight.data[0, 0] = torch.nan
    return Case(model, _loss())


PATIENTS = {
    "no residual connections, 12 layers": Patient(no_residual, "collapsed", "encoder.layers.[123]"),
    "no 1/√d_head": Patient(no_scale, "saturated", "encoder.layers.0"),
    "W_Q = W_K = 10·I": Patient(sharp_queries, "saturated", "encoder.layers.[0-5]"),
    "weights start 10 times too large": Patient(large_weights, "exploding", "encoder.layers.0"),
    "weights start 100 times too small": Patient(small_weights, "vanishing", "encoder.layers.*_projection.weight"),
    "no norm": Patient(no_norm, "exploding", "encoder.layers.[0-5]"),
    "dead ReLU": Patient(dead_neurons, "dead", "encoder.layers.2"),
    "a branch detached": Patient(detached_branch, "unused", "encoder.layers.3.feedforward"),
    "one learning rate 1000 times too large": Patient(fast_group, "update-too-large", "encoder.layers.2.*"),
    "a mask that hides everything": Patient(all_hidden, "masked-out", "encoder.layers.0.self_attention"),
    "one layer stands twice": Patient(shared_layer, "shared", "encoder.layers.4"),
    "NaN in one weight": Patient(not_a_number, "non-finite", "encoder.layers.3.feedforward.hidden_projection.weight"),
}
"""Twelve models with one fault each, by what was done to them: `make`, `fault` and `where`."""


def _model(*, d_model: int = 64, n_heads: int = 4, **choices) -> LanguageModel:
    return LanguageModel(TransformerConfig(VOCAB_SIZE, d_model, n_heads, d_feedforward=2 * d_model, **choices))


def _loss(mask: Tensor | None = None) -> Callable[[nn.Module], Tensor]:
    ids, targets = torch.randint(0, VOCAB_SIZE, (2, BATCH, N))
    return lambda model: F.cross_entropy(model(ids, mask).flatten(0, 1), targets.flatten())


def scale_weights(module: nn.Module, factor: float) -> nn.Module:
    for p in module.parameters():
        if p.dim() > 1:
            p.data.mul_(factor)
    return module
