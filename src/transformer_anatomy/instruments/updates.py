"""How far an optimiser moves the weights in one step."""

import copy
from collections.abc import Callable

import torch
from torch import nn

from transformer_anatomy.instruments.norms import norm


def update_ratios(model: nn.Module, step: Callable[[], object]) -> dict[str, float]:
    """‖ΔW‖/‖W‖ of each parameter by its path, for what `step` does to `model`, such as `optimizer.step`.

    Parameters that are all zero, as biases at the start, have no ratio and are left out.
    """
    before = {path: p.detach().clone() for path, p in model.named_parameters()}
    step()
    return {
        path: norm([p.detach() - before[path]]) / size
        for path, p in model.named_parameters()
        if (size := norm([before[path]]))
    }


def try_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, float]:
    """`update_ratios` of one step of `optimizer`, after which the weights and the optimiser are as they were."""
    weights = [(p, p.detach().clone()) for p in model.parameters()]
    state = copy.deepcopy(optimizer.state_dict())
    try:
        return update_ratios(model, optimizer.step)
    finally:
        with torch.no_grad():
            for p, before in weights:
                p.copy_(before)
        optimizer.load_state_dict(state)
