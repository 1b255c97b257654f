"""On which parameters a number depends, whether or not a gradient flows back to them."""

from torch import Tensor, nn

from transformer_anatomy.instruments.nested import tensors_of


class Dependence:
    """Follows each parameter of a model through all operations. Unlike a gradient it passes a `detach()`.

    What a tensor depends on is one bit for each parameter, kept for the address of its numbers: views share it.
    """

    def __init__(self, model: nn.Module):
        self._bits = {path: 1 << i for i, (path, _) in enumerate(model.named_parameters())}
        self._of: dict[int, int] = {}
        self._used = 0
        for path, p in model.named_parameters():
            if (where := address(p)) is not None:
                self._of[where] = self._of.get(where, 0) | self._bits[path]

    def note(self, args: tuple, kwargs: dict, output: object) -> None:
        """An operation made `output` of what it was given."""
        bits = self._union(args) | (self._union(kwargs.values()) if kwargs else 0)
        self._used |= bits
        for tensor in (output,) if isinstance(output, Tensor) else tensors_of(output):
            if (where := address(tensor)) is not None:
                self._of[where] = bits  # also where it is 0: another tensor may have been here before

    def used(self, path: str) -> bool:
        """Whether any operation took the parameter at `path`, or something made of it."""
        return bool(self._used & self._bits[path])

    def reaches(self, tensor: Tensor, path: str) -> bool:
        """Whether `tensor` depends on the parameter at `path`."""
        return bool(self._of.get(address(tensor), 0) & self._bits[path])

    def _union(self, values) -> int:
        bits = 0
        for value in values:
            if isinstance(value, Tensor):
                bits |= self._of.get(address(value), 0)
            elif isinstance(value, list | tuple):
                bits |= self._union(value)
        return bits


def address(tensor: Tensor) -> int | None:
    """Where the numbers of a tensor, and of its views, lie; None for one that is sparse, nested or empty."""
    # A comparison of layouts is slow.
    return (tensor.untyped_storage().data_ptr() or None) if not (tensor.is_sparse or tensor.is_nested) else None
