"""What a step is computed on: tensors, samples first, in any arrangement."""

import dataclasses
from collections.abc import Callable, Iterator

from torch import Tensor

Batch = object  # whatever the loss understands: a tensor, or tuples, lists, dicts and dataclasses of them


def tensors_of(batch: Batch) -> Iterator[Tensor]:
    """The tensors of `batch`, in order."""
    if isinstance(batch, Tensor):
        yield batch
    elif isinstance(batch, dict):
        for part in batch.values():
            yield from tensors_of(part)
    elif isinstance(batch, tuple | list):
        for part in batch:
            yield from tensors_of(part)
    elif _is_record(batch):
        for field in dataclasses.fields(batch):
            yield from tensors_of(getattr(batch, field.name))


def map_tensors(change: Callable[[Tensor], Tensor], batch: Batch) -> Batch:
    """The same arrangement with each tensor changed; what is neither a tensor nor holds one stays as it is."""
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {name: map_tensors(change, part) for name, part in batch.items()}
    if isinstance(batch, tuple | list):
        parts = [map_tensors(change, part) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if _is_record(batch):
        parts = {field.name: map_tensors(change, getattr(batch, field.name)) for field in dataclasses.fields(batch)}
        return dataclasses.replace(batch, **parts)
    return batch


def count_samples(batch: Batch) -> int:
    """How many samples `batch` holds: the first axis of its first tensor that has one.

    Raises `ValueError` when there is none.
    """
    n = next((len(tensor) for tensor in tensors_of(batch) if tensor.dim()), 0)
    if not n:
        raise ValueError("batches must return tensors with at least one sample, along the first axis; got none")
    return n


def _is_record(batch: Batch) -> bool:
    return dataclasses.is_dataclass(batch) and not isinstance(batch, type)
