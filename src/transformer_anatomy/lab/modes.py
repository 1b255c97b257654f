"""Which modules of a model are in training and which in evaluation."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


def start_training(model: nn.Module) -> None:
    """Put `model` in training mode, unless it is: what its user has set to evaluation inside it then stays so."""
    if not model.training:
        model.train()


@contextmanager
def modes_kept(model: nn.Module) -> Iterator[None]:
    """Afterwards each module of `model` is in training or evaluation, as it was."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training
