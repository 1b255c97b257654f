"""Where a NaN or an infinity first appears, on the way forward or on the way back, in words."""

from collections.abc import Callable

from torch import Tensor, nn

from transformer_anatomy.instruments.health import broken
from transformer_anatomy.instruments.health.broken import first_broken_weight, what_is_wrong
from transformer_anatomy.instruments.nested import tensors_of
from transformer_anatomy.lab.batch import Batch


def first_broken_output(model: nn.Module, compute: Callable[[], Tensor], batch: Batch) -> str:
    """What is to blame for a loss that is not finite: weights, else the batch, else a module, else the loss.

    `compute` makes the loss once more.
    """
    if path := first_broken_weight(model):
        return f"{path} holds NaN or infinity"
    if any(tensor.is_floating_point() and tensor.isnan().any() for tensor in tensors_of(batch)):
        return "the batch holds NaN"
    found = broken.first_broken_output(model, compute)
    if found is not None:
        return f"{found.path or 'the model'} is the first module whose output holds NaN or infinity"
    return "the output of every module is finite, so it comes from the loss itself"


def first_broken_gradient(model: nn.Module, compute: Callable[[], Tensor]) -> str:
    """What is to blame for a gradient that is not finite though the loss is.

    `compute` makes the loss once more. Gradients are lost.
    """
    found = broken.first_broken_gradient(model, compute)
    if found is not None:
        if found.made_here:
            return f"{found.path or 'the model'} is the first module on the way back that makes it NaN or infinite"
        if not found.path:
            return "it comes from the loss itself"
        return f"it is NaN or infinite already where it reaches {found.path}"
    model.zero_grad()
    compute().backward()
    names = [name for name, p in model.named_parameters() if p.grad is not None and what_is_wrong(p.grad)]
    return f"that of {names[-1]} holds NaN or infinity" if names else "it does not show when the step is repeated"
