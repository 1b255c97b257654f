"""What a step is computed on: tensors, samples first, in any arrangement."""

import copy
import dataclasses
from collections.abc import Callable, MutableMapping

from torch import Tensor

from transformer_anatomy.instruments.nested import tensors_of

Batch = object  # whatever the loss understands: a tensor, or tuples, lists, dicts and dataclasses of them


@dataclasses.dataclass(frozen=True)
class Whole:
    """A tensor of a batch that does not hold a sample in each row, such as a mask for all of them.

    Under `torchrun` a batch is cut along the first axis, and this is not, even if that is as long as there are samples.
    The loss gets the tensor itself.
    """

    tensor: Tensor


def map_tensors(
    change: Callable[[Tensor], Tensor], batch: Batch, change_whole: Callable[[Tensor], Tensor] | None = None
) -> Batch:
    """The same arrangement with each tensor changed; what is neither a tensor nor holds one stays as it is.

    What is marked as `Whole` is changed as well, but with `change_whole` in that way instead, and it loses its mark.
    """
    if isinstance(batch, Tensor):
        return change(batch)
    if isinstance(batch, Whole) and change_whole is not None:
        return change_whole(batch.tensor)
    if isinstance(batch, MutableMapping):
        changed = copy.copy(batch)  # of the same kind, as a tokenizer's BatchEncoding is
        for name, part in batch.items():
            changed[name] = map_tensors(change, part, change_whole)
        return changed
    if isinstance(batch, tuple | list):
        parts = [map_tensors(change, part, change_whole) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if _is_record(batch):
        fields = [field.name for field in dataclasses.fields(batch)]
        parts = {name: map_tensors(change, getattr(batch, name), change_whole) for name in fields}
        return dataclasses.replace(batch, **parts)
    return batch


def count_samples(batch: Batch) -> int:
    """How many samples `batch` holds: the first axis of its first tensor that has one and is not `Whole`.

    Raises `ValueError` when there is none.
    """
    cut = map_tensors(lambda tensor: tensor, batch, change_whole=lambda tensor: tensor.new_zeros(()))
    n = next((len(tensor) for tensor in tensors_of(cut) if tensor.dim()), 0)
    if not n:
        raise ValueError("batches must return tensors with at least one sample, along the first axis; got none")
    return n


def _is_record(batch: Batch) -> bool:
    return dataclasses.is_dataclass(batch) and not isinstance(batch, type)
