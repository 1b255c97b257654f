"""One run over several processes, as `torchrun` starts them: each computes its share of every batch."""

import atexit
import os
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from transformer_anatomy.lab.batch import Batch, count_samples, map_tensors

LAUNCHED = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}  # what torchrun tells each process


def join_processes(device: torch.device) -> None:
    """Join the processes that `torchrun` started and wait until all are here; nothing to do where it started none.

    They stay joined until the program ends: while one parts to join again, another might still be parting. On CUDA
    `device` becomes the current one; raises `ValueError` where several processes would share the first one.
    """
    if device.type == "cuda" and os.environ.keys() >= LAUNCHED:
        _take(device)
    if not _joined() and os.environ.keys() >= LAUNCHED:
        on_cuda = {"backend": "nccl", "device_id": device}
        dist.init_process_group(**on_cuda if device.type == "cuda" else {"backend": "gloo"})
        atexit.register(dist.destroy_process_group)
    if _joined():
        dist.barrier()


def rank() -> int:
    """Which of the processes this is, from 0."""
    return dist.get_rank() if _joined() else 0


def n_processes() -> int:
    return dist.get_world_size() if _joined() else 1


def own_share(batch: Batch) -> Batch:
    """The samples of `batch` that this process computes: every tensor with as many rows as there are samples is cut.

    What is marked as `Whole` is not, and comes back without its mark; nor is a tensor with another number of rows.
    Raises `ValueError` when the processes would get unequal shares, whose mean would not be the mean of the batch.
    """
    n = count_samples(batch)
    if n % n_processes():
        raise ValueError(f"a batch of {n} cannot be shared evenly by {n_processes()} processes")
    share = slice(rank() * n // n_processes(), (rank() + 1) * n // n_processes())

    def cut(tensor: Tensor) -> Tensor:
        return tensor[share] if tensor.dim() and len(tensor) == n else tensor

    return map_tensors(cut if n_processes() > 1 else _as_it_is, batch, change_whole=_as_it_is)


def share(tensors: Iterable[Tensor]) -> None:
    """Give every process what the first has in `tensors`."""
    if n_processes() > 1:
        for tensor in tensors:
            dist.broadcast(tensor.detach(), 0)


def check_agreed(number: int, found: str) -> None:
    """Raise `ValueError` unless every process has this number, which comes from the checkpoint that it `found`."""
    if any_process([number] != of_first_process([number])):
        raise ValueError(f"checkpoint must lie where every process can read it; process {rank()} found {found}")


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


def _take(device: torch.device) -> None:
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if device.index == 0 and local_rank > 0 and torch.cuda.device_count() > 1:
        raise ValueError(
            f"model must be on a GPU of its own in every process, got cuda:0 in process {local_rank} of this machine: "
            f'call torch.cuda.set_device(int(os.environ["LOCAL_RANK"])) before it is put on "cuda"'
        )
    torch.cuda.set_device(device)


def _as_it_is(tensor: Tensor) -> Tensor:
    return tensor


def _joined() -> bool:
    return dist.is_available() and dist.is_initialized()


def _device() -> str:
    return "cuda" if dist.get_backend() == "nccl" else "cpu"
