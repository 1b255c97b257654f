"""Tell a norm that is written out from any other root: features divided by the root of a statistic of theirs."""

from torch import Tensor

from transformer_anatomy.instruments.health import operations as ops
from transformer_anatomy.instruments.health.dependence import address


class WrittenNorms:
    """Follows statistics of features, which are smaller than these, through their root to what is divided by it."""

    def __init__(self):
        self._statistics: dict[int, object] = {}  # with their storages, so that no other gets their address
        self._roots: dict[int, object] = {}

    def normalizes(self, operation, args: tuple, output: object) -> Tensor | None:
        """What `operation` has just divided by the root of a statistic, if that is what it did."""
        if operation in ops.STATISTIC or operation in ops.ROOTED_STATISTIC:
            made = output[0] if isinstance(output, tuple) else output
            if made.dim() and made.numel() < args[0].numel():
                _keep(self._roots if operation in ops.ROOTED_STATISTIC else self._statistics, made)
        elif operation in ops.ROOT:
            # A power of 2 makes the squares whose mean is still to come; only ±1/2 is a root.
            if address(args[0]) in self._statistics and (len(args) < 2 or abs(args[1]) == 0.5):
                _keep(self._roots, output)
        elif operation in ops.SHIFTED or operation in ops.MULTIPLIED:
            return self._divided(operation, args, output)
        return None

    def _divided(self, operation, args: tuple, output: Tensor) -> Tensor | None:
        given = [value for value in args if isinstance(value, Tensor)]
        for kind in (self._roots, self._statistics):
            if any(address(value) in kind for value in given):
                larger = next((value for value in given if address(value) not in kind), None)
                if larger is None or _size(larger) <= min(_size(value) for value in given if value is not larger):
                    _keep(kind, output)  # ε added, or a constant factor
                elif kind is self._roots and operation in ops.MULTIPLIED:
                    return larger
                return None
        return None


def _keep(kind: dict[int, object], tensor: Tensor) -> None:
    if (where := address(tensor)) is not None:
        kind[where] = tensor.untyped_storage()


def _size(tensor: Tensor) -> int:
    return tensor.untyped_storage().nbytes()
