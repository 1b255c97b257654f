"""Greedy decoding: the most probable next token, again and again."""

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from transformer_anatomy.model.arguments import check_ids, check_size
from transformer_anatomy.model.cache import KeyValueCache
from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.masks import check_sample_mask
from transformer_anatomy.model.transformer import Transformer
from transformer_anatomy.shapes import Mask, TokenIds


@torch.no_grad()
def greedy_decode(
    transformer: Transformer,
    source_ids: TokenIds,
    prompt_ids: Int[Tensor, "batch prompt"],
    *,
    n_new: int,
    end_id: int | None = None,
    source_mask: Mask | None = None,
    prompt_mask: Mask | None = None,
    cached: bool = True,
) -> Int[Tensor, "batch prompt_and_new"]:
    """The prompts with up to `n_new` more tokens each, `(batch, prompt + new)`.

    Prompts of unequal length are padded on the left, and `prompt_mask` hides the padding: it is
    `padding_mask(lengths, n).flip(-1)`. A sequence that has chosen `end_id` is filled up with it, and when all have,
    decoding stops. Without the key/value cache every step computes all positions anew; up to rounding it is the same.

    Raises `ValueError` in training mode and, before anything is computed, when the tokens, padding included, would need
    more than `max_length` positions.
    """
    check_size("n_new", n_new, at_least=0)
    if any(module.training for module in transformer.modules()):
        raise ValueError("transformer must be in evaluation mode, where nothing is random: call transformer.eval()")
    _check_prompts(prompt_ids, prompt_mask, n_new, transformer.config)
    if len(prompt_ids) != len(source_ids):
        raise ValueError(f"prompt_ids must have the batch size of source_ids, {len(source_ids)}, got {len(prompt_ids)}")
    if end_id is not None:
        check_size("end_id", end_id, at_least=0)
        if end_id >= transformer.config.vocab_size:
            raise ValueError(f"end_id must lie between 0 and {transformer.config.vocab_size - 1}, got {end_id}")
    memory = transformer.encode(source_ids, source_mask)
    cache = KeyValueCache() if cached else None
    ids, mask = prompt_ids.clone(), prompt_mask
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(n_new):
        if end_id is not None and ended.all():
            break
        logits = transformer.decode(ids, memory, target_mask=mask, source_mask=source_mask, cache=cache)[:, -1]
        following = logits.argmax(dim=-1)
        if end_id is not None:
            following = following.masked_fill(ended, end_id)
            ended = following == end_id
        ids = torch.cat([ids, following[:, None].to(ids.dtype)], dim=1)
        mask = None if mask is None else F.pad(mask, (0, 1), value=True)
    return ids


def _check_prompts(ids: Tensor, mask: Tensor | None, n_new: int, config: TransformerConfig) -> None:
    check_ids("prompt_ids", ids, vocab_size=config.vocab_size, max_length=config.max_length)
    batch, n = ids.shape
    if n == 0:
        raise ValueError("prompt_ids must hold at least one token for each sequence, got none")
    if n + n_new - 1 > config.max_length:  # The last token is never read.
        needed = f"{n} tokens and n_new = {n_new} need {n + n_new - 1} positions"
        raise ValueError(f"prompt_ids and n_new must fit in max_length = {config.max_length}; {needed}")
    if mask is None:
        return
    check_sample_mask(mask, (batch, 1, 1, n), "prompt_mask")
    if mask.dim() < 4 or mask.shape[-1] < n:
        raise ValueError(f"prompt_mask must be (batch, 1, 1, {n}), got {tuple(mask.shape)}")
    if not mask[..., -1].all() or (mask[..., :-1] & ~mask[..., 1:]).any():
        raise ValueError("prompt_mask must hide padding on the left alone, got one that hides what follows a token")
