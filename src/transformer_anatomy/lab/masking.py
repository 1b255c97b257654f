"""Masked-token training: hide some words and ask for them back (Devlin et al. 2019)."""

import torch
from jaxtyping import Int
from torch import Tensor

from transformer_anatomy.lab.lexicon import MASK_ID, SPECIALS, VOCABULARY
from transformer_anatomy.lab.requests import IGNORED, as_generator
from transformer_anatomy.shapes import TokenIds


def mask_tokens(
    ids: TokenIds, seed: int | torch.Generator, *, share: float = 0.2
) -> tuple[TokenIds, Int[Tensor, "batch position"]]:
    """Inputs in which a share of the words is hidden, and targets: the hidden words, `IGNORED` elsewhere.

    Of the words chosen, each with probability `share`, 80 % become [MASK], 10 % a random word and 10 % stay, so that a
    model has to say something at every place (Devlin et al. 2019, section 3.1). [CLS], [SEP] and [PAD] are never
    chosen. A small batch may have no word chosen, and then no loss.

    Raises `ValueError` for a share outside 0 to 1 and for ids outside the vocabulary of the grammar, `TypeError` for
    ids that are not whole numbers.
    """
    if ids.dtype == torch.bool or ids.is_floating_point():
        raise TypeError(f"ids must be whole numbers, got {ids.dtype}")
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie between 0 and 1, got {share}")
    if ids.numel() and not 0 <= ids.min() <= ids.max() < len(VOCABULARY):
        raise ValueError(
            f"ids must lie between 0 and {len(VOCABULARY) - 1}, got {ids.min().item()} to {ids.max().item()}"
        )
    generator = as_generator(seed)
    # Drawn where the generator lives, so that one seed hides the same words on every device.
    draws = torch.rand(2, *ids.shape, generator=generator, device=generator.device).to(ids.device)
    words = torch.randint(len(SPECIALS), len(VOCABULARY), ids.shape, generator=generator, device=generator.device)
    chosen = (ids >= len(SPECIALS)) & (draws[0] < share)
    fate = draws[1]
    inputs = ids.masked_fill(chosen & (fate < 0.8), MASK_ID)
    inputs = torch.where(chosen & (fate >= 0.9), words.to(ids.device), inputs)
    return inputs, ids.masked_fill(~chosen, IGNORED)
