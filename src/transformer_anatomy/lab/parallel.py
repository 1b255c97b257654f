"""One run over several processes, as `torchrun` starts them: each computes its share of every batch."""

import atexit
import os

import torch
import torch.distributed as dist
from torch import Tensor, nn

from transformer_anatomy.lab.batch import Batch, count_samples, map_tensors

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}  # what torchrun tells each process


def join_processes(device: torch.device) -> None:
    """Join the processes that `torchrun` started and wait until all are here; nothing to do where it started none.

    They stay joined until the program ends: while one parts to join again, another might still be parting.
    """
    if not _joined() and os.environ.keys() >= LAUNCHED:
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        atexit.register(dist.destroy_process_group)
    if _joined():
        dist.barrier()


def rank() -> int:
    """Which of the processes this is, from 0."""
    return dist.get_rank() if _joined() else 0


def n_processes() -> int:
    return dist.get_world_size() if _joined() else 1


def own_share(batch: Batch) -> Batch:
    """The samples of `batch` that this process computes; tensors that hold no sample each, as a mask, stay whole.

    Raises `ValueError` when the processes would get unequal shares, whose mean would not be the mean of the batch.
    """
    if n_processes() == 1:
        return batch
    n = count_samples(batch)
    if n % n_processes():
        raise ValueError(f"a batch of {n} cannot be shared evenly by {n_processes()} processes")
    share = slice(rank() * n // n_processes(), (rank() + 1) * n // n_processes())
    return map_tensors(lambda tensor: tensor[share] if tensor.dim() and len(tensor) == n else tensor, batch)


def share_start(model: nn.Module, n_done: int) -> None:
    """Let every process start from the parameters and buffers of the first.

    Raises `ValueError` unless all have done the same number of steps.
    """
    if n_processes() == 1:
        return
    if any_process([n_done] != of_first_process([n_done])):
        raise ValueError(f"checkpoint must lie where every process can read it; process {rank()} found {n_done} steps")
    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), 0)


def average_gradients(model: nn.Module) -> None:
    """Replace each gradient by its mean over the processes, of which some may have none."""
    if n_processes() == 1:
        return
    parameters = [p for p in model.parameters() if p.requires_grad]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    there = torch.tensor([p.grad is not None for p in parameters]).to(gradients[0])
    *means, there = average(torch.cat([*(g.flatten() for g in gradients), there])).split(
        [*(p.numel() for p in parameters), len(parameters)]
    )
    for p, mean, arrived in zip(parameters, means, there.tolist(), strict=True):
        if arrived:
            p.grad = mean.view_as(p).to(p.dtype)


def average(tensor: Tensor) -> Tensor:
    """The mean over the processes."""
    if n_processes() == 1:
        return tensor
    total = tensor.clone()
    dist.all_reduce(total)
    return total / n_processes()


def any_process(condition: bool) -> bool:
    """Whether `condition` holds in any of the processes, so that all of them go on or none."""
    if n_processes() == 1:
        return condition
    flag = torch.tensor(float(condition), device=_device())
    dist.all_reduce(flag, dist.ReduceOp.MAX)
    return bool(flag)


def of_first_process(numbers: list[float]) -> list[float]:
    """The numbers that the first process has: others may differ in the last digit, and decide otherwise."""
    if n_processes() == 1:
        return numbers
    shared = torch.tensor(numbers, dtype=torch.float64, device=_device())
    dist.broadcast(shared, 0)
    return shared.tolist()


def _joined() -> bool:
    return dist.is_available() and dist.is_initialized()


def _device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
