"""What a language model is trained for: the next token, in nats."""

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from transformer_anatomy.model.arguments import check_ids
from transformer_anatomy.shapes import Logits, TokenIds


def next_token_pairs(token_ids: TokenIds) -> tuple[TokenIds, TokenIds]:
    """What a model reads and what it should say: all tokens but the last, and the token that follows each of them."""
    return token_ids[:, :-1], token_ids[:, 1:]


def token_loss(
    logits: Logits, targets: TokenIds, counted: Bool[Tensor, "batch position"] | None = None
) -> Float[Tensor, ""]:
    """Mean cross-entropy of the targets in nats, in float32 at least, over the places where `counted` is True.

    Chance is `ln(vocab_size)`. `logits` come before softmax. Padding is left out with
    `counted=padding_mask(lengths, n)[:, 0, 0]`; without any place that counts the loss is 0, and so are its gradients.
    """
    if logits.dim() != 3 or logits.shape[:2] != targets.shape:
        raise ValueError(
            f"logits must be (batch, position, vocabulary) for targets (batch, position), "
            f"got {tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    if counted is not None:
        if counted.shape != targets.shape:
            raise ValueError(
                f"counted must have the shape of targets, {tuple(targets.shape)}, got {tuple(counted.shape)}"
            )
        targets = targets.masked_fill(~counted, 0)
    check_ids("targets", targets, vocab_size=logits.shape[-1], max_length=targets.shape[1])
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten().long(), reduction="none").view_as(targets)
    if counted is not None:
        losses = losses.masked_fill(~counted, 0.0)
    n_counted = losses.numel() if counted is None else counted.sum()
    return losses.sum() / max(1, n_counted)
