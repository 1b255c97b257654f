"""`examine`: what is wrong with a model, told from one pass forward and one pass backward."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.health.arguments import as_optimizers, check_arguments
from transformer_anatomy.instruments.health.diagnosis import diagnose, notes_on
from transformer_anatomy.instruments.health.look import looked
from transformer_anatomy.instruments.health.report import HealthReport

Optimizers = torch.optim.Optimizer | Sequence[torch.optim.Optimizer]


def examine(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], *, optimizer: Optimizers | None = None
) -> HealthReport:
    """A report on any `torch.nn.Module`: figures for each layer, what is wrong and where, and on what evidence.

        examine(model, lambda model: F.cross_entropy(model(ids).flatten(0, 1), targets.flatten()))

    `loss` takes the model and returns a scalar tensor. It is called once and followed by one pass backward, and once
    more if a gradient is not finite, to see where that begins; with an `optimizer`, or several in a list, by one step,
    too. Afterwards the model is as it was: weights, gradients, buffers, mode and hooks, the optimiser, and PyTorch's
    random state.

    Layers are found where a container repeats a class of modules. Attention is seen that runs through PyTorch's softmax
    or `F.scaled_dot_product_attention`; a kernel from elsewhere leaves no entropy. It is called too sharp in the first
    layer, or where it copies single keys, and only if that does not lower the loss. A mask of the opposite polarity
    shows where some sample has no padding, or where the model looks up token ids `(batch, position)`. Dead neurons are
    those of ReLU. What follows from another fault is a finding, too, further down. What may be meant is a note: a part
    that took no part in the loss.

    Raises `TypeError` for what is no module, no function, or no scalar loss; `ValueError` for a loss without gradient
    or with a backward of its own, for a model that is compiled, scripted or without numbers (lazy, meta), and for an
    optimiser of another model or one that takes several gradients for a step (LBFGS). What `loss` raises passes on.
    """
    check_arguments(model, loss, optimizer)
    with looked(model, loss, as_optimizers(optimizer)) as look:
        findings, notes = tuple(diagnose(look)), tuple(notes_on(look)) if math.isfinite(look.loss) else ()
        return HealthReport(look.loss, tuple(map(tuple, look.figures)), findings, notes)
