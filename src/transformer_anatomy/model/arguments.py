"""What an argument may be. Whoever gives another is told its name, what came and what is accepted."""

import math
from collections.abc import Collection
from numbers import Real

import torch
from torch import Tensor, nn


def check_size(name: str, size: object, *, at_least: int = 1) -> None:
    """Raise `ValueError` unless `size` is a whole number of at least `at_least`."""
    if isinstance(size, bool) or not isinstance(size, int) or size < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {size!r}")


def check_count(name: str, count: object, *, at_least: int = 0) -> None:
    """Raise `TypeError` unless `count` is a whole number, `ValueError` unless it is large enough."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{name} must be a whole number, got {count!r}")
    if count < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {count}")


def check_heads(d_model: object, n_heads: object) -> None:
    """Raise `ValueError` unless both are sizes and the heads can share the width evenly."""
    check_size("d_model", d_model)
    check_size("n_heads", n_heads)
    if d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model, got n_heads = {n_heads} and d_model = {d_model}")


def check_probability(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a number of at least 0 and below 1: at 1 nothing would be left."""
    if not _is_number(value) or not 0 <= value < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Raise `ValueError` unless `value` is a finite number above 0."""
    if not _is_number(value) or not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be a finite number above 0, got {value!r}")


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise `ValueError` unless `value` is one of `choices`, in type too."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_tensor(name: str, x: object) -> None:
    """Raise `TypeError` unless `x` is a tensor."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(x).__name__}")


def check_module(name: str, module: object) -> None:
    """Raise `TypeError` unless `module` is a module."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"{name} must be a torch.nn.Module, got {type(module).__name__}")


def check_features(name: str, x: Tensor, d_model: int, dtype: torch.dtype) -> None:
    """Raise unless `x` is `(..., d_model)` and in the dtype that the module computes in."""
    _check_dtype(name, x, dtype)
    if x.shape[-1:] != (d_model,):
        raise ValueError(f"{name} must be (..., {d_model}), got {tuple(x.shape)}")


def check_stream(name: str, x: Tensor, d_model: int, dtype: torch.dtype) -> None:
    """Raise unless `x` is `(batch, position, d_model)` and in the dtype that the module computes in."""
    _check_dtype(name, x, dtype)
    if x.dim() != 3 or x.shape[-1] != d_model:
        raise ValueError(f"{name} must be (batch, position, {d_model}), got {tuple(x.shape)}")


def check_ids(name: str, ids: Tensor, *, vocab_size: int, max_length: int) -> None:
    """Raise unless `ids` are whole numbers below `vocab_size`, `(batch, position)`, at most `max_length` positions."""
    _check_whole_numbers(name, ids)
    if ids.dim() != 2:
        raise ValueError(f"{name} must have shape (batch, position), got {tuple(ids.shape)}")
    if ids.shape[1] > max_length:
        raise ValueError(f"{name} must have at most max_length = {max_length} positions, got {ids.shape[1]}")
    _check_range(name, ids, vocab_size)


def check_positions(positions: Tensor, token_ids: Tensor, *, max_length: int) -> None:
    """Raise unless `positions` says of each of `token_ids` at which of `max_length` positions it stands."""
    _check_whole_numbers("positions", positions)
    batch, n = token_ids.shape
    if tuple(positions.shape) not in ((batch, n), (1, n)):
        raise ValueError(f"positions must have shape ({batch}, {n}) or (1, {n}), got {tuple(positions.shape)}")
    _check_range("positions", positions, max_length)


def _check_dtype(name: str, x: Tensor, dtype: torch.dtype) -> None:
    check_tensor(name, x)
    if x.dtype != dtype and not _autocast_converts(x, dtype):
        raise TypeError(f"{name} is {x.dtype} but this module computes in {dtype}; convert one of them")


def _check_whole_numbers(name: str, numbers: Tensor) -> None:
    if not isinstance(numbers, Tensor) or numbers.dtype not in (torch.int64, torch.int32):
        came = numbers.dtype if isinstance(numbers, Tensor) else type(numbers).__name__
        raise TypeError(f"{name} must be a tensor of whole numbers (int64 or int32), got {came}")


def _check_range(name: str, numbers: Tensor, end: int) -> None:
    # Compiled code cannot branch on values, and a tensor on the meta device has none.
    if torch.compiler.is_compiling() or numbers.is_meta or not numbers.numel():
        return
    least, most = (int(number) for number in numbers.aminmax())
    if least < 0 or most >= end:
        raise ValueError(f"{name} must lie between 0 and {end - 1}, got {least} to {most}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _autocast_converts(tensor: Tensor, dtype: torch.dtype) -> bool:
    converted = {torch.float32, torch.float16, torch.bfloat16}
    return torch.is_autocast_enabled(tensor.device.type) and {tensor.dtype, dtype} <= converted
