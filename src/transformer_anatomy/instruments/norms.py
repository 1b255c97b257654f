"""The size of tensors, without overflow."""

from collections.abc import Iterable

import torch
from torch import Tensor

from transformer_anatomy.model.device import widest_dtype


def norm(tensors: Iterable[Tensor | None]) -> float | None:
    """The Frobenius norm of several tensors together, accumulated in float64 (on MPS float32); None if there are none.

    A tensor that is None does not count, so that no gradient is told from a gradient of 0.
    """
    norms = [
        torch.linalg.vector_norm(_values(t), dtype=torch.promote_types(t.dtype, widest_dtype(t.device))).cpu().double()
        for t in tensors
        if t is not None
    ]
    return torch.stack(norms).norm().item() if norms else None


def _values(tensor: Tensor) -> Tensor:
    return tensor.detach().coalesce().values() if tensor.is_sparse else tensor.detach()
