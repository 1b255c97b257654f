"""`examine`: what is wrong with a model, told from one pass forward and one pass backward."""

import math
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.health.arguments import check_arguments, check_value
from transformer_anatomy.instruments.health.diagnosis import diagnose
from transformer_anatomy.instruments.health.figures import stack_figures
from transformer_anatomy.instruments.health.observer import Observer
from transformer_anatomy.instruments.health.preserved import preserved, repeatable
from transformer_anatomy.instruments.health.report import HealthReport
from transformer_anatomy.instruments.health.stacks import find_stacks
from transformer_anatomy.instruments.health.steps import badly_updated
from transformer_anatomy.instruments.health.worth import Worth
from transformer_anatomy.instruments.updates import try_step


def examine(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], *, optimizer: torch.optim.Optimizer | None = None
) -> HealthReport:
    """A report on any `torch.nn.Module`: figures for each layer, what is wrong and where, and on what evidence.

        examine(model, lambda model: F.cross_entropy(model(ids).flatten(0, 1), targets.flatten()))

    `loss` takes the model and returns a scalar tensor. It is called once and followed by one pass backward; with an
    `optimizer`, by one step, too. Afterwards the model is as it was: weights, gradients, buffers, mode and hooks, the
    optimiser, and PyTorch's random state.

    Layers are found where a container repeats a class of modules. Attention is seen that runs through PyTorch's softmax
    or `F.scaled_dot_product_attention`; a kernel from elsewhere leaves no entropy. Dead neurons are those of ReLU.
    What follows from another fault is a finding, too, further down.

    Raises `TypeError` for what is no module, no function, or no scalar loss; `ValueError` for a loss without gradient
    or with a backward of its own, for a model that is compiled, scripted or without numbers (lazy, meta), and for an
    optimiser of another model. What `loss` raises passes through.
    """
    check_arguments(model, loss, optimizer)
    stacks = find_stacks(model)
    with torch.inference_mode(False), preserved(model):
        observer = Observer(model, stacks)
        again = repeatable(model, loss)
        with torch.enable_grad():
            with observer:
                value = loss(model)
            check_value(value, model)
            seen = observer.seen
            seen.reads.note([value], None)
            finite = math.isfinite(value.item())
            if finite:
                with Worth(seen.sharp) if seen.sharp else nullcontext() as worth:
                    value.backward()
                seen.worth = worth.share if worth else seen.worth
        updates = try_step(model, optimizer) if optimizer is not None and finite else {}
        figures = [stack_figures(stack, seen, value.item(), updates) for stack in stacks]
        findings = list(diagnose(model, stacks, figures, seen, value.item(), again))
        if updates and all(finding.fault != "non-finite" for finding in findings):
            findings += badly_updated(model, updates, optimizer)
    return HealthReport(value.item(), tuple(map(tuple, figures)), tuple(findings))
