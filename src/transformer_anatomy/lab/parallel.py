"""One run over several processes, as `torchrun` starts them: each computes its share of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.distributed as dist
from torch import Tensor, nn


@contextmanager
def joined_processes(device: torch.device) -> Iterator[None]:
    """Join the processes that `torchrun` started, for as long as the block lasts; nothing to do where it did not."""
    if "RANK" not in os.environ or dist.is_initialized():
        yield
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def rank() -> int:
    """Which of the processes this is, from 0."""
    return dist.get_rank() if dist.is_initialized() else 0


def n_processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def own_share(batch: object) -> object:
    """The samples of `batch` that this process computes: a tensor, or tuples, lists and dicts of them.

    Raises `ValueError` when the processes would get unequal shares, whose mean would not be the mean of the batch.
    """
    if isinstance(batch, Tensor):
        if batch.shape[0] % n_processes():
            raise ValueError(f"a batch of {batch.shape[0]} cannot be shared evenly by {n_processes()} processes")
        return batch.chunk(n_processes())[rank()] if n_processes() > 1 else batch
    if isinstance(batch, dict):
        return {name: own_share(part) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [own_share(part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def average(tensors: list[Tensor]) -> None:
    """Replace each tensor by its mean over the processes."""
    if n_processes() == 1 or not tensors:
        return
    flat = torch.cat([tensor.flatten() for tensor in tensors])
    dist.all_reduce(flat)
    flat /= n_processes()
    for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
        tensor.copy_(mean.view_as(tensor))


def average_gradients(model: nn.Module) -> None:
    average([p.grad for p in model.parameters() if p.grad is not None])
