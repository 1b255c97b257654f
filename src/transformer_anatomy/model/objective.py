"""What a language model is trained for: the next token, in nats."""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_anatomy.model.arguments import check_ids
from transformer_anatomy.shapes import Logits, TokenIds


def next_token_pairs(token_ids: TokenIds) -> tuple[Int[Tensor, "batch pair"], Int[Tensor, "batch pair"]]:
    """What a model reads and what it should say: all tokens but the last, and the token that follows each of them."""
    if token_ids.dim() != 2:
        raise ValueError(f"token_ids must have shape (batch, position), got {tuple(token_ids.shape)}")
    return token_ids[:, :-1].clone(), token_ids[:, 1:].clone()


def token_loss(
    logits: Logits,
    targets: TokenIds,
    counted: Bool[Tensor, "batch position"] | None = None,
    *,
    ignore_index: int = -100,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the targets in nats, in float32 at least, over the places that count.

    Chance is `ln(vocab_size)`. `logits` come before softmax. A place does not count where its target is `ignore_index`,
    as `mask_tokens` marks what it does not ask, nor where `counted` is False: padding is left out with
    `counted=padding_mask(lengths, n)[:, 0, 0]`. Without any place that counts the loss is 0, and so are its gradients.

    Raises `TypeError` or `ValueError` for logits and targets that do not belong together, for other targets outside the
    vocabulary, and for a `counted` of another shape or dtype.
    """
    if not (isinstance(logits, Tensor) and logits.is_floating_point()):
        came = logits.dtype if isinstance(logits, Tensor) else type(logits).__name__
        raise TypeError(f"logits must be a floating-point tensor, got {came}")
    if logits.dim() != 3 or logits.shape[:2] != targets.shape:
        raise ValueError(
            f"logits must be (batch, position, vocabulary) for targets (batch, position), "
            f"got {tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    if counted is not None:
        if counted.dtype != torch.bool:
            raise TypeError(f"counted must be boolean (True: counts), got {counted.dtype}")
        if counted.shape != targets.shape:
            raise ValueError(
                f"counted must have the shape of targets, {tuple(targets.shape)}, got {tuple(counted.shape)}"
            )
    asked = targets != ignore_index
    counted = asked if counted is None else counted & asked
    # What does not count may be anything, NaN too, and gets gradients of 0.
    logits, targets = logits.masked_fill(~counted[..., None], 0.0), targets.masked_fill(~counted, 0)
    check_ids("targets", targets, vocab_size=logits.shape[-1], max_length=targets.shape[1])
    wide = logits if logits.dtype == torch.float64 else logits.float()
    losses = F.cross_entropy(wide.flatten(0, 1), targets.flatten().long(), reduction="none").view_as(targets)
    return losses.masked_fill(~counted, 0.0).sum() / counted.sum().clamp(min=1)
