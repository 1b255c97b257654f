"""The key/value cache: what a decoder need not compute again when a sequence grows."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer_anatomy.shapes import Keys, Memory, TokenIds, Values

Project = Callable[[Memory], tuple[Keys, Values]]  # a memory to its keys and values


class GrowingKeys:
    """Keys and values of all positions so far; each pass brings those of its own positions and reads all."""

    def __init__(self):
        self.held: tuple[Keys, Values] | None = None

    def read(self, memory: Memory, project: Project) -> tuple[Keys, Values]:
        new = project(memory)
        self.held = new if self.held is None else tuple(map(_append, self.held, new))
        return self.held


class FixedKeys:
    """Keys and values of a memory that stays the same: computed at the first pass, read at all."""

    def __init__(self):
        self.held: tuple[Keys, Values] | None = None

    def read(self, memory: Memory, project: Project) -> tuple[Keys, Values]:
        if self.held is None:
            self.held = project(memory)
        return self.held


class LayerCache(NamedTuple):
    """What one decoder layer keeps, for each of its two attentions."""

    self_attention: GrowingKeys | None = None
    cross_attention: FixedKeys | None = None


class KeyValueCache:
    """What `decoder` has computed of one batch of sequences. It belongs to the caller, never to the model.

        cache = KeyValueCache(decoder)
        decoder(token_ids[:, :5], memory, cache=cache)  # the first five positions
        decoder(token_ids[:, :6], memory, cache=cache)  # computes and returns the sixth alone

    Give the decoder the *whole* sequence so far, each time: it computes what is new, and a cache that was filled from
    anything else is refused.
    """

    def __init__(self, decoder: nn.Module):
        self.decoder = decoder
        self.layers = [LayerCache(GrowingKeys(), FixedKeys()) for _ in decoder.layers]
        self.token_ids: TokenIds | None = None
        self.memory: Memory | None = None

    @property
    def length(self) -> int:
        """The number of positions that the cache holds."""
        return 0 if self.token_ids is None else self.token_ids.shape[1]

    def extend(self, decoder: nn.Module, token_ids: TokenIds, memory: Memory) -> int:
        """Take note that `decoder` now computes the rest of `token_ids`; returns the number of positions it can skip.

        Raises `ValueError` unless the sequences go on from those in the cache, with the same decoder and memory.
        """
        if decoder.training or torch.is_grad_enabled():
            raise ValueError("cache must be used in evaluation mode and inside torch.no_grad(): it carries no gradient")
        if decoder is not self.decoder:
            raise ValueError("cache was made for another decoder: make one for this decoder, KeyValueCache(decoder)")
        held = self.length
        if self.token_ids is not None:
            if token_ids.shape[1] <= held:
                raise ValueError(
                    f"token_ids must be the whole sequence so far, longer than the {held} positions in the cache, "
                    f"got {token_ids.shape[1]}"
                )
            if not torch.equal(token_ids[:, :held], self.token_ids):
                raise ValueError(
                    "token_ids must begin with those in the cache: start another sequence with a new cache"
                )
            if not (memory is self.memory or torch.equal(memory, self.memory)):
                raise ValueError("memory must be the one that the cache was filled from")
        self.token_ids, self.memory = token_ids, memory
        return held


def _append(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old, new], dim=2)
