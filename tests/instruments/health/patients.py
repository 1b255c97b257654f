"""Twelve broken models, each with one fault that `examine` has to name first, and where it has to find it."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from tests.instruments.health.models import LanguageModel, prediction_loss
from transformer_anatomy import padding_mask


class Patient(NamedTuple):
    """A model, its loss, and an optimiser if the fault lies there."""

    model: nn.Module
    loss: Callable
    optimizer: torch.optim.Optimizer | None = None


def no_residual(**sizes):
    return Patient(LanguageModel(**sizes | {"n_layers": 12}, residual=False), prediction_loss())


def no_scale(*, d_model=256, n_heads=4, **sizes):
    model = LanguageModel(d_model=d_model, n_heads=n_heads, **sizes)
    for layer in model.encoder.layers:
        scale_weights(layer.self_attention.query_projection, (d_model // n_heads) ** 0.5)
    return Patient(model, prediction_loss())


def sharp_queries(**sizes):
    model = LanguageModel(**sizes)
    for layer in model.encoder.layers:
        for projection in (layer.self_attention.query_projection, layer.self_attention.key_projection):
            projection.weight.data = 10 * torch.eye(len(projection.weight))
    return Patient(model, prediction_loss())


def large_weights(**sizes):
    model = scale_weights(LanguageModel(norm="pre", **sizes), 10)
    return Patient(model, prediction_loss())


def small_weights(**sizes):
    model = scale_weights(LanguageModel(**sizes), 0.01)
    return Patient(model, prediction_loss())


def no_norm(**sizes):
    return Patient(LanguageModel(norm="none", **sizes), prediction_loss())


def dead_neurons(**sizes):
    model = LanguageModel(**sizes)
    model.encoder.layers[2].feedforward.hidden_projection.bias.data.fill_(-100)
    return Patient(model, prediction_loss())


def detached_branch(**sizes):
    model = LanguageModel(**sizes)
    model.encoder.layers[3].feedforward.register_forward_hook(lambda module, inputs, output: output.detach())
    return Patient(model, prediction_loss())


def fast_group(**sizes):
    model = LanguageModel(**sizes)
    fast = list(model.encoder.layers[2].parameters())
    others = [p for p in model.parameters() if all(p is not one for one in fast)]
    optimizer = torch.optim.Adam([{"params": others}, {"params": fast, "lr": 1.0}], lr=1e-3)
    return Patient(model, prediction_loss(), optimizer)


def all_hidden(**sizes):
    mask = padding_mask([0] * 8, 24)
    return Patient(LanguageModel(**sizes), prediction_loss(mask))


def shared_layer(**sizes):
    model = LanguageModel(**sizes)
    model.encoder.layers[4] = model.encoder.layers[1]
    return Patient(model, prediction_loss())


def not_a_number(**sizes):
    model = LanguageModel(**sizes)
    projection = model.encoder.layers[3].feedforward.hidden_projection
    projection.weight.data[0, 0] = math.nan
    return Patient(model, prediction_loss())


def scale_weights(module, factor):
    for p in module.parameters():
        if p.dim() > 1:
            p.data.mul_(factor)
    return module


# name: the patient, its fault, and where, as a pattern
PATIENTS = {
    "no residual connections, 12 layers": (no_residual, "collapsed", "encoder.layers.[123]"),
    "no 1/√d_head": (no_scale, "saturated", "encoder.layers.0"),
    "W_Q = W_K = 10·I": (sharp_queries, "saturated", "encoder.layers.[0-5]"),
    "weights start 10 times too large": (large_weights, "exploding", "encoder.layers.0"),
    "weights start 100 times too small": (small_weights, "vanishing", "encoder.layers.[0-5].*_projection.weight"),
    "no norm": (no_norm, "exploding", "encoder.layers.[0-5]"),
    "dead ReLU": (dead_neurons, "dead", "encoder.layers.2"),
    "a branch detached": (detached_branch, "unused", "encoder.layers.3.feedforward"),
    "one learning rate 1000 times too large": (fast_group, "update-too-large", "encoder.layers.2.*"),
    "a mask that hides everything": (all_hidden, "masked-out", "encoder.layers.0.self_attention"),
    "one layer stands twice": (shared_layer, "shared", "encoder.layers.4"),
    "NaN in one weight": (not_a_number, "non-finite", "encoder.layers.3.feedforward.hidden_projection.weight"),
}
