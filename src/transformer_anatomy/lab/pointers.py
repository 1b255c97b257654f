"""Pointer chasing: a task that needs as many compositions as its first token says, so that depth shows."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_anatomy.lab.requests import IGNORED, as_generator
from transformer_anatomy.model.arguments import check_count
from transformer_anatomy.shapes import TokenIds


@dataclass(frozen=True, eq=False)
class PointerBatch:
    """Puzzles of `n` pointers each, with what is to be found at every pointer.

    `ids` is `(batch, 1 + n)`: first how many hops, then the pointers; `targets` has the same shape and is `IGNORED` at
    the first place. Ids below `n` are places, and `n + k - 1` says "k hops"; targets are places. `hops` is `(batch,)`.
    """

    ids: TokenIds
    targets: Int[Tensor, "batch position"]
    hops: Int[Tensor, " batch"]
    n: int
    max_hops: int

    @property
    def vocab_size(self) -> int:
        """How many ids there are: one for each place, one for each number of hops."""
        return self.n + self.max_hops

    @property
    def chance(self) -> float:
        """The accuracy of guessing among the other places: fewer than `n` hops on one cycle never lead back."""
        return self.chance_within(0)

    @property
    def trivial(self) -> float:
        """The accuracy of a reader who sees the number of hops and its own place alone: the baseline to beat.

        At one hop it copies the pointer, which is right; at more it guesses among the `n - 2` places that are left.
        """
        return (1 + (self.max_hops - 1) / max(1, self.n - 2)) / self.max_hops

    @property
    def ceiling(self) -> float:
        """The accuracy of following the pointers: every target is a function of `ids`."""
        return 1.0

    def chance_within(self, reach: int) -> float:
        """The accuracy of guessing farther away, knowing what lies within `reach` hops forwards and backwards.

        Such a reader rules out `2·reach` more places. It holds for more than `reach` hops, up to `n - 1 - reach`.
        """
        check_count("reach", reach)
        left = self.n - 1 - 2 * reach
        if left < 1:
            raise ValueError(f"reach must leave a place to guess among n = {self.n}, got {reach}")
        return 1 / left


def pointer_chasing(n_samples: int, seed: int | torch.Generator, *, n: int = 12, max_hops: int = 6) -> PointerBatch:
    """Puzzles in which place `i` holds `f(i)` and the target there is `f` applied `k` times, `k` in `1..max_hops`.

    `f` is one random cycle through all `n` places, so that every place leads to every other one; `k` is drawn for each
    puzzle and said by its first token. A seed gives the same puzzles again, a generator the next ones.
    Raises `ValueError` unless `1 <= max_hops < n`: after `n` hops every place is back at itself.
    """
    check_count("n_samples", n_samples)
    check_count("n", n, at_least=2)
    check_count("max_hops", max_hops, at_least=1)
    if max_hops >= n:
        raise ValueError(f"max_hops must be below n = {n}, or a walk comes back to its start, got {max_hops}")
    generator = as_generator(seed)
    device = generator.device
    order = torch.rand(n_samples, n, generator=generator, device=device).argsort(dim=1)
    pointers = torch.empty_like(order).scatter_(1, order, order.roll(-1, dims=1))
    hops = torch.randint(1, max_hops + 1, (n_samples,), generator=generator, device=device)
    targets = torch.arange(n, device=device).repeat(n_samples, 1)
    for hop in range(1, max_hops + 1):
        targets = torch.where(hops[:, None] >= hop, pointers.gather(1, targets), targets)
    ids = torch.cat([(n + hops - 1)[:, None], pointers], dim=1)
    nothing_asked = torch.full((n_samples, 1), IGNORED, device=device)
    return PointerBatch(ids, torch.cat([nothing_asked, targets], dim=1), hops, n, max_hops)
