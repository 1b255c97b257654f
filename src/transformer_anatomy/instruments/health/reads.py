"""What of a model was read by an operation, and what was computed or held in vain."""

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.nested import tensors_of


class Reads:
    """Follows the parameters of a model, and what its modules return, to the operation that reads them.

    A view and a change in place read nothing yet: they stand for the same numbers.
    """

    def __init__(self, model: nn.Module):
        # By address, with the storage, so that no other tensor gets that address.
        self._waiting: dict[int, tuple[object, list[str]]] = {}
        self._read: set[str] = set()
        self.ran: set[str] = set()
        for path, p in model.named_parameters(remove_duplicate=False):
            self._wait(p, path)

    def returned(self, path: str, output: object) -> None:
        """A module has computed `output`, which nobody has read yet."""
        self.ran.add(path)
        for tensor in tensors_of(output):
            self._wait(tensor, path)

    def note(self, given: tuple | list, output: object) -> None:
        """An operation was given these."""
        for value in given:
            if isinstance(value, Tensor):
                if self._waiting and (where := address(value)) in self._waiting:
                    if isinstance(output, Tensor) and address(output) == where:
                        continue
                    self._read.update(self._waiting.pop(where)[1])
            elif isinstance(value, list | tuple):
                self.note(value, output)

    def __contains__(self, path: str) -> bool:
        """Whether an operation read the parameter, or what the module at `path` returned."""
        return path in self._read

    def _wait(self, tensor: Tensor, path: str) -> None:
        if (where := address(tensor)) is not None:
            self._waiting.setdefault(where, (tensor.untyped_storage(), []))[1].append(path)


def address(tensor: Tensor) -> int | None:
    """Where the numbers of a tensor, and of its views, lie; None for one that is sparse, nested or empty."""
    if tensor.layout is not torch.strided or tensor.is_nested:
        return None
    return tensor.untyped_storage().data_ptr() or None
