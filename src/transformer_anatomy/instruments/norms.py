"""The size of tensors, without overflow."""

from collections.abc import Iterable

import torch
from torch import Tensor


def norm(tensors: Iterable[Tensor | None]) -> float | None:
    """The Frobenius norm of several tensors together, accumulated in float32 or better; None if there are none.

    A tensor that is None does not count, so that no gradient is told from a gradient of 0.
    """
    norms = [
        torch.linalg.vector_norm(t.detach(), dtype=torch.promote_types(t.dtype, torch.float32)).cpu().double()
        for t in tensors
        if t is not None
    ]
    return torch.stack(norms).norm().item() if norms else None
