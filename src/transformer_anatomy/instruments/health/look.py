"""One look at a model: what a pass forward, a pass backward and a step of the optimisers showed."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.health.arguments import check_value
from transformer_anatomy.instruments.health.figures import LayerFigures, stack_figures
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.observer import Observer
from transformer_anatomy.instruments.health.preserved import preserved, repeatable
from transformer_anatomy.instruments.health.stacks import Layer, find_stacks
from transformer_anatomy.instruments.health.steps import try_steps
from transformer_anatomy.instruments.health.worth import Worth
from transformer_anatomy.instruments.updates import Update


class Look(NamedTuple):
    """All that a diagnosis rests on; gradients are those of the look as long as it lasts."""

    model: nn.Module
    optimizers: Sequence[torch.optim.Optimizer]
    stacks: list[list[Layer]]
    figures: list[list[LayerFigures]]
    seen: Observation
    loss: float
    updates: dict[str, Update]
    again: Callable[[], Tensor]  # computes the loss once more


@contextmanager
def looked(
    model: nn.Module, loss: Callable[[nn.Module], Tensor], optimizers: Sequence[torch.optim.Optimizer]
) -> Iterator[Look]:
    """Look at `model`, which is as it was when the context ends."""
    stacks = find_stacks(model)
    with torch.inference_mode(False), preserved(model):
        again = repeatable(model, loss)
        with torch.enable_grad():
            with Observer(model, stacks) as observer:
                value = loss(model)
            check_value(value, model)
            seen, number = observer.seen, value.item()
            seen.value = value.detach()
            finite = math.isfinite(number)
            if finite:
                with Worth(seen.sharp) if seen.sharp else nullcontext() as worth:
                    value.backward()
                seen.worth = worth.of if worth else seen.worth
        updates = try_steps(model, optimizers) if finite else {}
        figures = [stack_figures(stack, seen, number, updates) for stack in stacks]
        yield Look(model, optimizers, stacks, figures, seen, number, updates, again)
