"""What a function computes, as far as its code says it: a digest that comments do not change and statements do."""

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType

import numpy as np
import torch
from torch import Tensor

PLAIN = (type(None), bool, int, float, complex, str, bytes, range, torch.dtype)


def code_digest(function: object) -> str:
    """Sixteen hexadecimal digits for the compiled code of `function`, and for all that it names in its own module.

    That is: functions and classes, numbers and words, tensors, and lists, dicts and dataclasses of them, be they among
    its defaults, around it or in the module. Other modules, such as this library, count by name alone.
    Another version of Python compiles otherwise, and so gives other digits.
    """
    root = function
    while isinstance(root, functools.partial):
        root = root.func
    module = getattr(root, "__module__", None)
    return hashlib.sha256("\n".join(_parts(function, module, {})).encode()).hexdigest()[:16]


def _parts(value: object, module: str | None, seen: dict[int, object]) -> Iterator[str]:
    if isinstance(value, PLAIN):
        yield repr(value)
        return
    if isinstance(value, np.ndarray | Tensor):
        array = torch.as_tensor(value).detach().cpu().contiguous()
        yield f"{array.dtype} {tuple(array.shape)} {hashlib.sha256(array.view(torch.uint8).numpy()).hexdigest()}"
        return
    yield f"{type(value).__qualname__} {getattr(value, '__module__', '')} {getattr(value, '__qualname__', '')}"
    if id(value) in seen:
        return
    seen[id(value)] = value  # held, so that its id is not given to another
    for part in _within(value, module):
        yield from _parts(part, module, seen)


def _within(value: object, module: str | None) -> Iterator[object]:
    """What `value` consists of."""
    ours = getattr(value, "__module__", None) == module
    if isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif inspect.ismethod(value):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, FunctionType) and ours:
        yield from (value.__code__, value.__defaults__, value.__kwdefaults__)
        yield [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
        yield {name: value.__globals__[name] for name in _names(value.__code__) if name in value.__globals__}
    elif isinstance(value, CodeType):
        yield from (value.co_code, value.co_names, value.co_consts)
    elif isinstance(value, type) and ours:
        yield from (value.__mro__, {k: v for k, v in vars(value).items() if not k.startswith("__") or callable(v)})
    elif isinstance(value, Mapping):
        yield from (part for item in value.items() for part in item)
    elif isinstance(value, set | frozenset):
        yield sorted(repr(part) for part in value if isinstance(part, PLAIN))
    elif isinstance(value, list | tuple):
        yield from value
    elif dataclasses.is_dataclass(value) or (ours and callable(value) and hasattr(value, "__dict__")):
        yield from (type(value), vars(value) if hasattr(value, "__dict__") else repr(value))


def _names(code: CodeType) -> list[str]:
    """The names that `code` and the functions inside it look up, in order."""
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names += _names(constant)
    return list(dict.fromkeys(names))


def _is_full(cell: object) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
