"""What tells a run from another one with the same settings: the weights it starts from, and the data it reads."""

import functools
import inspect
import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

Fingerprint = list[list[float]]  # of each tensor: how many numbers, their root mean square, a weighted sum of them

CLOSE = 1e-4  # Rounding on another machine changes less, other numbers nearly always change more.


def fingerprint(tensors: Iterable[Tensor]) -> Fingerprint:
    """A few numbers for each tensor, which other values or another order change and rounding hardly does."""
    return [_of_one(tensor) for tensor in tensors]


def same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints are of the same tensors, up to rounding."""
    return len(one) == len(other) and all(
        a[0] == b[0] and all(abs(x - y) <= CLOSE * a[1] for x, y in zip(a[1:], b[1:], strict=True))
        for a, b in zip(one, other, strict=True)
    )


def state_of(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, each once, however many names it has."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def name_of(function: object) -> str | None:
    """What a function is called where it was defined; a `partial` is called as what it completes."""
    while isinstance(function, functools.partial):
        function = function.func
    if function is None:
        return None
    function = inspect.unwrap(function)
    return getattr(function, "__qualname__", type(function).__qualname__)


def _of_one(tensor: Tensor) -> list[float]:
    numbers = tensor.detach().to("cpu")
    numbers = (torch.view_as_real(numbers) if numbers.is_complex() else numbers).double().flatten()
    numbers = numbers.nan_to_num(nan=0.5, posinf=1.0, neginf=-1.0)  # masks hold infinities
    n = numbers.numel()
    if n == 0:
        return [0, 0.0, 0.0]
    size = numbers.square().mean().sqrt().item()
    weights = torch.arange(n, dtype=torch.float64).cos()
    return [n, size, (numbers @ weights).item() / math.sqrt(n)]
