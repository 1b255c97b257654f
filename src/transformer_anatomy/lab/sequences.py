"""Sequences of random symbols: to be copied, to be reversed, or to be continued because they repeat."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor

from transformer_anatomy.lab.baselines import bag_share
from transformer_anatomy.lab.requests import as_generator
from transformer_anatomy.model.arguments import check_count
from transformer_anatomy.model.objective import next_token_pairs
from transformer_anatomy.shapes import TokenIds

START = 0  # Symbols are 1 to n_symbols.


@dataclass(frozen=True, eq=False)
class SequencePairs:
    """Sources `(batch, length)` and the targets `(batch, 1 + length)` that a decoder is to write; targets begin at 0.

    Id 0 is the start, ids 1 to `n_symbols` are symbols. Train with `inputs, labels = next_token_pairs(pairs.target)`.
    """

    source: TokenIds
    target: Int[Tensor, "batch position+1"]
    n_symbols: int

    @property
    def vocab_size(self) -> int:
        """How many ids there are: the start and the symbols."""
        return 1 + self.n_symbols

    @property
    def chance(self) -> float:
        """The accuracy without the source: symbols are independent, so that what was written so far tells nothing."""
        return 1 / self.n_symbols

    @property
    def trivial(self) -> float:
        """The accuracy of knowing which symbols the source holds, not their order: the baseline to beat."""
        return bag_share(self.source.shape[1], self.n_symbols)

    @property
    def ceiling(self) -> float:
        """The accuracy of reading the source: it determines every symbol."""
        return 1.0


@dataclass(frozen=True, eq=False)
class RepetitionBatch:
    """The start, a block of random symbols, and the same block again: `ids` is `(batch, 1 + 2·block)`.

    `predictable` is `(2·block,)`, aligned with `labels` and the same for every sample: True where the label has been
    seen before, for a reader who knows the length of the block. Id 0 is the start, ids 1 to `n_symbols` are symbols.
    """

    ids: TokenIds
    predictable: Bool[Tensor, " position-1"]
    n_symbols: int

    @property
    def vocab_size(self) -> int:
        """How many ids there are: the start and the symbols."""
        return 1 + self.n_symbols

    @property
    def inputs(self) -> Int[Tensor, "batch label"]:
        """What a language model reads: all ids but the last."""
        return next_token_pairs(self.ids)[0]

    @property
    def labels(self) -> Int[Tensor, "batch label"]:
        """What it is to say at each input: the id after it."""
        return next_token_pairs(self.ids)[1]

    @property
    def chance(self) -> float:
        """The accuracy without context, on either half."""
        return 1 / self.n_symbols

    @property
    def trivial(self) -> float:
        """The accuracy over all places of knowing in the second half which symbols are to come, not their order."""
        share, block = self.predictable.double().mean().item(), int(self.predictable.sum())
        return share * bag_share(block, self.n_symbols) + (1 - share) * self.chance

    @property
    def ceiling(self) -> float:
        """The best accuracy over all places: certain in the second half, chance in the first."""
        share = self.predictable.double().mean().item()
        return share + (1 - share) * self.chance

    @property
    def floor(self) -> float:
        """The least loss over all places, in nats: 0 in the second half, `ln n_symbols` in the first."""
        return (1 - self.predictable.double().mean().item()) * math.log(self.n_symbols)


def copying(n_samples: int, seed: int | torch.Generator, *, length: int = 10, n_symbols: int = 10) -> SequencePairs:
    """Random symbols, and the same symbols as target. A seed gives the same pairs again, a generator the next ones."""
    source = _symbols(n_samples, seed, length, n_symbols)
    return SequencePairs(source, _started(source), n_symbols)


def reversing(n_samples: int, seed: int | torch.Generator, *, length: int = 10, n_symbols: int = 10) -> SequencePairs:
    """Random symbols, and the same symbols from last to first as target; otherwise as `copying`."""
    source = _symbols(n_samples, seed, length, n_symbols)
    return SequencePairs(source, _started(source.flip(dims=[1])), n_symbols)


def repetition(n_samples: int, seed: int | torch.Generator, *, block: int = 10, n_symbols: int = 10) -> RepetitionBatch:
    """A random block that is repeated once: the second half can be copied from the first, the first not from anywhere.

    The task in which induction heads show (Olsson et al. 2022). A seed gives the same blocks again, a generator the
    next ones.
    """
    check_count("block", block, at_least=1)
    symbols = _symbols(n_samples, seed, block, n_symbols)
    predictable = torch.arange(2 * block, device=symbols.device) >= block
    return RepetitionBatch(_started(torch.cat([symbols, symbols], dim=1)), predictable, n_symbols)


def _symbols(n_samples: int, seed: int | torch.Generator, length: int, n_symbols: int) -> TokenIds:
    check_count("n_samples", n_samples)
    check_count("length", length)
    check_count("n_symbols", n_symbols, at_least=2)
    generator = as_generator(seed)
    return torch.randint(1, n_symbols + 1, (n_samples, length), generator=generator, device=generator.device)


def _started(symbols: TokenIds) -> Int[Tensor, "batch position+1"]:
    return F.pad(symbols, (1, 0), value=START)
