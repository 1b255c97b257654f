"""How far an optimiser moves the weights in one step."""

import copy
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.norms import norm
from transformer_anatomy.model.arguments import check_module


class Update(NamedTuple):
    """What one step did to one parameter."""

    ratio: float  # ‖ΔW‖/‖W‖
    stuck: float  # share of the entries with a gradient that did not change at all


def update_ratios(model: nn.Module, step: Callable[[], object]) -> dict[str, float]:
    """‖ΔW‖/‖W‖ of each parameter by its path, for what `step` does to `model`, such as `optimizer.step`.

    Parameters that are all zero, as biases at the start, have no ratio and are left out.

    Raises `TypeError` for what is no module, and for a step that cannot be called.
    """
    check_module("model", model)
    if not callable(step):
        raise TypeError(f"step must be a function without arguments, such as optimizer.step, got {type(step).__name__}")
    return {path: update.ratio for path, update in _updates(model, step).items()}


def try_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Update]:
    """What one step of `optimizer` does to each parameter by its path; then weights and optimiser are as they were."""
    with _undone(model, optimizer):
        return _updates(model, optimizer.step)


def _updates(model: nn.Module, step: Callable[[], object]) -> dict[str, Update]:
    before = {path: p.detach().clone() for path, p in model.named_parameters()}
    step()
    return {
        path: Update(norm([p.detach() - before[path]]) / size, _stuck(p, before[path]))
        for path, p in model.named_parameters()
        if (size := norm([before[path]]))
    }


def _stuck(p: nn.Parameter, before: Tensor) -> float:
    if p.grad is None:
        return 0.0
    gradient = p.grad.to_dense() if p.grad.is_sparse else p.grad
    pulled = gradient != 0
    return (pulled & (p.detach() == before)).sum().item() / max(1, pulled.sum().item())


@contextmanager
def _undone(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Let the optimiser step on copies of its state, then put back its own, and the weights."""
    mine = [p for group in optimizer.param_groups for p in group["params"]]
    weights = {p: p.detach().clone() for p in [*model.parameters(), *mine]}
    groups = [dict(group) for group in optimizer.param_groups]
    attributes = dict(vars(optimizer))
    optimizer.state = defaultdict(dict, {p: copy.deepcopy(state) for p, state in optimizer.state.items()})
    for group in optimizer.param_groups:  # a learning rate may be a tensor
        group.update({name: value.clone() for name, value in group.items() if isinstance(value, Tensor)})
    try:
        yield
    finally:
        vars(optimizer).clear()
        vars(optimizer).update(attributes)
        for group, before in zip(optimizer.param_groups, groups, strict=True):
            group.clear()
            group.update(before)
        with torch.no_grad():
            for p, before in weights.items():
                if not torch.equal(p, before):  # NaN is unequal to itself and copied back, too
                    p.copy_(before)
