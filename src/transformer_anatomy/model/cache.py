"""The key/value cache: what a decoder need not compute again when a sequence grows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from transformer_anatomy.model.continuation import DecoderInputs, check_continuation
from transformer_anatomy.shapes import Keys, Memory, Stream, Values

Project = Callable[[Memory], tuple[Keys, Values]]  # a memory to its keys and values


class GrowingKeys:
    """Keys and values of all positions so far; each pass brings those of its own positions and reads all."""

    def __init__(self):
        self.held: tuple[Keys, Values] | None = None

    @property
    def length(self) -> int:
        """The number of positions so far."""
        return 0 if self.held is None else self.held[0].shape[2]

    def read(self, x: Stream, project: Project) -> tuple[Keys, Values]:
        new = project(x)
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
    """What a decoder has computed of one batch of sequences. It belongs to the caller, never to the model.

        cache = KeyValueCache()
        decoder(token_ids[:, :5], memory, cache=cache)  # the first five positions
        decoder(token_ids[:, :6], memory, cache=cache)  # computes and returns the sixth alone

    Give the decoder the *whole* sequence so far each time, with masks for all of it; it computes what is new. Inputs
    that would make the positions in the cache come out differently are refused, and a decoder's pass that fails leaves
    no trace. The decoder itself must not change in between.
    """

    def __init__(self):
        self.layers: list[LayerCache] = []
        self.inputs: DecoderInputs | None = None
        self.decoder: nn.Module | None = None

    @property
    def length(self) -> int:
        """The number of positions that the cache holds."""
        return 0 if self.inputs is None else self.inputs.token_ids.shape[1]

    @contextmanager
    def growing(self, decoder: nn.Module, inputs: DecoderInputs) -> Iterator[list[LayerCache]]:
        """What the layers of `decoder` keep, for one pass that computes the rest of `inputs`.

        Raises `ValueError` where a gradient could be asked for, and unless `inputs` go on from what the cache holds.
        """
        if torch.is_grad_enabled() or any(module.training for module in decoder.modules()):
            raise ValueError("cache must be used in evaluation mode and inside torch.no_grad(): it carries no gradient")
        if self.inputs is not None:
            if decoder is not self.decoder:
                raise ValueError("cache was filled by another decoder: make a new KeyValueCache()")
            check_continuation(self.inputs, inputs)
        layers = [LayerCache(*map(copy, layer)) for layer in self.layers]
        layers = layers or [LayerCache(GrowingKeys(), FixedKeys()) for _ in decoder.layers]
        yield layers
        # Copies, because whoever gave these tensors may write into them.
        self.inputs = DecoderInputs(*(None if tensor is None else tensor.detach().clone() for tensor in inputs))
        self.layers, self.decoder = layers, decoder


def _append(old: Tensor, new: Tensor) -> Tensor:
    return torch.cat([old, new], dim=2)
