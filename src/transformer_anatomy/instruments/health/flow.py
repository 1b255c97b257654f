"""What happens to a stream on its way through one layer."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_anatomy.model.device import widest_dtype


@dataclass
class Flow:
    """Size and token similarity where a layer begins and where it ends; None where there is no such thing."""

    shape_in: tuple[int, ...] | None = None
    shape_out: tuple[int, ...] | None = None
    size_in: float | None = None
    size_out: float | None = None
    similarity_in: float | None = None
    similarity_out: float | None = None

    @classmethod
    def entering(cls, stream: Tensor | None, alike: Callable[[Tensor], float | None] | None) -> "Flow":
        """The beginning of a flow, with the similarity that `alike` measures, if it is given."""
        if stream is None:
            return cls()
        return cls(shape_in=tuple(stream.shape), size_in=size(stream), similarity_in=alike(stream) if alike else None)

    def leave(self, stream: Tensor | None, alike: Callable[[Tensor], float | None]) -> None:
        """Note where the flow ends, the first time that it does."""
        if stream is not None and self.shape_out is None:
            self.shape_out, self.size_out, self.similarity_out = tuple(stream.shape), size(stream), alike(stream)

    def growth(self, following: "Flow | None" = None) -> float | None:
        """How many times as large the stream is where the layer `following` begins, or else where it leaves.

        What stands between two layers, such as an activation, is thereby part of the first. None where the stream does
        not keep its shape.
        """
        if self.shape_in != self.shape_out or not self.size_in or self.size_out is None:
            return None
        goes_on = following is not None and following.shape_in == self.shape_out and following.size_in is not None
        return (following.size_in if goes_on else self.size_out) / self.size_in


def size(stream: Tensor) -> float | None:
    """Root mean square of all numbers."""
    if not stream.numel():
        return None
    wide = torch.promote_types(stream.dtype, torch.float32)
    length = torch.linalg.vector_norm(stream, dtype=wide).item()
    if math.isinf(length):  # the squares of large numbers overflow
        length = torch.linalg.vector_norm(stream, dtype=widest_dtype(stream.device)).item()
    return length / stream.numel() ** 0.5


def similarity(stream: Tensor, layer: nn.Module, *, batch_first: bool) -> float | None:
    """Mean cosine between different tokens of a sample, over all samples; None for what is no stream of tokens.

    A stream of tokens has three axes, and the weights of `layer` apply to the last: in a convolution they apply to the
    second, and where both might be the case nothing is told.
    """
    if stream.dim() != 3 or not stream.numel():
        return None
    tokens = stream if batch_first else stream.transpose(0, 1)
    n, width = tokens.shape[1:]
    if n < 2 or not any(p.dim() == 2 and width in p.shape for p in layer.parameters()):
        return None
    if any(isinstance(part, nn.Conv1d) and part.in_channels == n for part in layer.modules()):
        return None
    # The cosines of all pairs of unit vectors, and n ones besides, add up to the squared length of their sum.
    wide = widest_dtype(tokens.device)
    total = F.normalize(tokens.to(wide), dim=-1).sum(dim=1).square().sum(dim=-1)
    return ((total - n) / (n * (n - 1))).mean().item()
