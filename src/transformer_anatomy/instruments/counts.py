"""Whole numbers that a caller gives: windows, blocks, samples."""


def check_count(name: str, count: int, *, smallest: int) -> None:
    """Raise `TypeError` unless `count` is a whole number, `ValueError` if it is below `smallest`."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"{name} must be a whole number, got {count!r}")
    if count < smallest:
        raise ValueError(f"{name} must be at least {smallest}, got {count}")
