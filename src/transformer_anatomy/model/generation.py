"""Greedy decoding: the most probable next token, again and again."""

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_anatomy.model.arguments import check_size
from transformer_anatomy.model.cache import KeyValueCache
from transformer_anatomy.model.masks import check_sample_mask
from transformer_anatomy.model.transformer import Transformer
from transformer_anatomy.shapes import Mask, TokenIds


@torch.no_grad()
def greedy_decode(
    transformer: Transformer,
    source_ids: TokenIds,
    prompt_ids: TokenIds,
    *,
    n_new: int,
    end_id: int | None = None,
    source_mask: Mask | None = None,
    prompt_mask: Mask | None = None,
    cached: bool = True,
) -> TokenIds:
    """The prompts with up to `n_new` more tokens each, `(batch, prompt + new)`.

    Prompts of unequal length are padded on the left, and `prompt_mask` `(batch, 1, 1, prompt)` hides the padding. A
    sequence that reached `end_id` is filled up with it. Without the key/value cache every step computes all positions
    anew, for the same result.

    Raises `ValueError` in training mode and when the tokens would need more than `max_length` positions.
    """
    check_size("n_new", n_new, at_least=0)
    if transformer.training:
        raise ValueError("transformer must be in evaluation mode, where nothing is random: call transformer.eval()")
    _check_prompts(prompt_ids, prompt_mask, n_new, transformer.config.max_length)
    memory = transformer.encode(source_ids, source_mask)
    cache = KeyValueCache(transformer.decoder) if cached else None
    ids, mask = prompt_ids, prompt_mask
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    for _ in range(n_new):
        following = transformer.decode(ids, memory, mask, source_mask, cache)[:, -1].argmax(dim=-1)
        if end_id is not None:
            following = following.masked_fill(ended, end_id)
            ended |= following == end_id
        ids = torch.cat([ids, following[:, None].to(ids.dtype)], dim=1)
        mask = None if mask is None else F.pad(mask, (0, 1), value=True)
        if ended.all():
            break
    return ids


def _check_prompts(ids: Tensor, mask: Tensor | None, n_new: int, max_length: int) -> None:
    batch, n = ids.shape
    if n == 0:
        raise ValueError("prompt_ids must hold at least one token for each sequence, got none")
    if n + n_new - 1 > max_length:  # The last token is never read.
        needed = f"{n} tokens and n_new = {n_new} need {n + n_new - 1} positions"
        raise ValueError(f"prompt_ids and n_new must fit in max_length = {max_length}; {needed}")
    if mask is None:
        return
    check_sample_mask(mask, (batch, 1, 1, n))
    if mask.dim() < 4 or not mask[..., -1].all():
        raise ValueError(
            f"prompt_mask must be (batch, 1, 1, {n}) and hide padding on the left alone, got {tuple(mask.shape)}"
        )
