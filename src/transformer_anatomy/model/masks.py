"""Who may attend to whom. One convention: boolean, True means *may attend*; masks combine with `&`."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_anatomy.model.arguments import check_count
from transformer_anatomy.model.device import pick_device
from transformer_anatomy.shapes import Mask


def relative_positions(
    n_query: int, n_key: int | None = None, *, device: torch.device | str | None = None
) -> Int[Tensor, "query key"]:
    """Position of each key minus position of each query, in tokens: 0 on the diagonal, positive in the future.

    With fewer queries than keys the queries are the *last* positions, as in generation with a cache
    (bottom-right alignment).
    """
    n_key = n_query if n_key is None else n_key
    check_count("n_query", n_query)
    check_count("n_key", n_key)
    device = _existing(device)
    query = torch.arange(n_key - n_query, n_key, device=device)
    return torch.arange(n_key, device=device) - query[:, None]


def causal_mask(
    n_query: int, n_key: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "query key"]:
    """Allow the present and the past: `(query, key)`, the lower triangle, aligned bottom-right when `n_key` differs."""
    return relative_positions(n_query, n_key, device=device) <= 0


def window_mask(
    n_query: int, window: int, n_key: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "query key"]:
    """Allow keys at most `window` positions away, on either side: `(query, key)`; 0 leaves each token to itself."""
    check_count("window", window)
    return relative_positions(n_query, n_key, device=device).abs() <= window


def padding_mask(
    lengths: Sequence[int] | Tensor, n: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "batch 1 1 key"]:
    """Allow the first `lengths[i]` of `n` keys in sample `i`: `(batch, 1, 1, n)`, the same for every head and query.

    Raises `ValueError` for a length outside 0 to `n`, `TypeError` for lengths that are not whole numbers.
    """
    check_count("n", n)
    try:
        lengths = torch.as_tensor(lengths) if len(lengths) else torch.empty(0, dtype=torch.int64)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"lengths must be whole numbers, one for each sample, got {lengths!r}") from None
    if lengths.dtype == torch.bool or lengths.is_floating_point() or lengths.is_complex():
        raise TypeError(f"lengths must be whole numbers, one for each sample, got {lengths.dtype}")
    if lengths.dim() != 1:
        raise ValueError(f"lengths must be one number for each sample, got shape {tuple(lengths.shape)}")
    if lengths.numel() and not 0 <= lengths.min() <= lengths.max() <= n:
        raise ValueError(f"lengths must lie between 0 and n = {n}, got {lengths.tolist()}")
    lengths = lengths.to(_existing(device))
    return (torch.arange(n, device=lengths.device) < lengths[:, None])[:, None, None, :]


def visible_keys(mask: Mask) -> Bool[Tensor, "#batch 1 1 key"]:
    """The keys that some query may attend to, `(batch, 1, 1, key)`; the others are padding, for whoever reads them.

    `mask` broadcasts to `(batch, head, query, key)`.
    """
    check_boolean(mask)
    return mask[(None,) * (4 - mask.dim())].any(dim=(1, 2), keepdim=True)


def blocked_mask(mask: Mask) -> Mask:
    """The same mask for `nn.MultiheadAttention`, where True means *blocked*. The one place where polarity turns.

    `F.scaled_dot_product_attention` needs no conversion: there True means may attend, as here.
    """
    check_boolean(mask)
    return ~mask


def _existing(device: torch.device | str | None) -> torch.device | str | None:
    # "meta" holds shapes without numbers, which is enough for a mask and for nothing that `pick_device` serves;
    # compiled code computes where its tensors are and cannot ask.
    unasked = device is None or torch.compiler.is_compiling() or str(device) == "meta"
    return device if unasked else pick_device(device)


def check_boolean(mask: Tensor, name: str = "mask") -> None:
    """Raise `TypeError` unless `mask` is boolean: numbers added to scores would let "masked" keys keep weight."""
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name} must be a boolean tensor (True: may attend), got {type(mask).__name__}")
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} must be boolean (True: may attend), got {mask.dtype}; convert it with mask.bool()")


def check_mask(mask: Tensor, shape: tuple[int, ...], name: str = "mask") -> None:
    """Raise unless `mask` is boolean and broadcasts to `shape`, the shape of the scores, without enlarging it."""
    check_boolean(mask, name)
    shape = tuple(shape)
    aligned = shape[len(shape) - mask.dim() :]
    fits = mask.dim() <= len(shape) and all(m in (1, s) for m, s in zip(mask.shape, aligned, strict=True))
    if not fits:
        raise ValueError(f"{name} of shape {tuple(mask.shape)} does not broadcast to scores of shape {shape}")


def check_sample_mask(mask: Tensor | None, shape: tuple[int, int, int, int], name: str = "mask") -> None:
    """Raise unless `mask` broadcasts to `(batch, head, query, key)` and says which of its axes are which."""
    if mask is None:
        return
    check_mask(mask, shape, name)
    if mask.dim() == 3:  # Broadcasting would read (batch, query, key) as (head, query, key) without a word.
        raise ValueError(
            f"{name} of shape {tuple(mask.shape)} could mean samples or heads: "
            "write mask[:, None] for one mask a sample, mask[None] for one a head"
        )
