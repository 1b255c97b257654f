"""The tensors in what a module or a batch is made of, however they are arranged."""

import dataclasses
from collections.abc import Iterator, MutableMapping

from torch import Tensor


def tensors_of(values: object) -> Iterator[Tensor]:
    """The tensors in tuples, lists, dicts and dataclasses, in order; those of anything else are not found."""
    if isinstance(values, Tensor):
        yield values
    elif isinstance(values, MutableMapping):
        for part in values.values():
            yield from tensors_of(part)
    elif isinstance(values, tuple | list):
        for part in values:
            yield from tensors_of(part)
    elif dataclasses.is_dataclass(values) and not isinstance(values, type):
        for field in dataclasses.fields(values):
            yield from tensors_of(getattr(values, field.name))
