"""When a decoder may go on from what it has computed: all that its past depends on must still be the same."""

from typing import NamedTuple

import torch
from torch import Tensor

from transformer_anatomy.shapes import Mask, Memory, Positions, TokenIds


class DecoderInputs(NamedTuple):
    """All that a decoder's hidden states depend on, beside its weights."""

    token_ids: TokenIds
    memory: Memory
    mask: Mask | None
    memory_mask: Mask | None
    positions: Positions


def check_continuation(held: DecoderInputs, given: DecoderInputs) -> None:
    """Raise `ValueError` unless `given` only adds positions to `held` and leaves those of `held` as they were."""
    n = held.token_ids.shape[1]
    if given.token_ids.shape[1] <= n:
        raise ValueError(
            "token_ids (of a Transformer: target_ids) must be the whole sequence so far, longer than the "
            f"{n} positions in the cache, got {given.token_ids.shape[1]}"
        )
    if not _same(given.token_ids[:, :n], held.token_ids):
        raise ValueError("token_ids must begin with those in the cache: another sequence needs a new KeyValueCache()")
    if not _same(given.memory, held.memory):
        raise ValueError("memory must be the one that the cache was filled from")
    for name in ("mask", "memory_mask"):
        if not (_seen_by_first(n, given, name) == _seen_by_first(n, held, name)).all():
            raise ValueError(f"{name} must hide from the {n} positions in the cache what it hid before")
    if not (given.positions[:, :n] == held.positions).all():
        raise ValueError(f"mask must let the {n} positions in the cache count from where they did")


def _same(new: Tensor, old: Tensor) -> bool:
    if new.shape != old.shape:
        return False
    return torch.equal(new, old) or bool(((new == old) | (new.isnan() & old.isnan())).all())  # NaN is itself here


def _seen_by_first(n: int, given: DecoderInputs, name: str) -> Mask:
    """What a mask lets the first `n` positions see, `(batch or 1, head or 1, n or 1, key or 1)`."""
    mask = getattr(given, name)
    mask = given.token_ids.new_ones((), dtype=torch.bool) if mask is None else mask
    rows = mask[(None,) * (4 - mask.dim())][:, :, :n]
    return rows[..., :n] if name == "mask" else rows
