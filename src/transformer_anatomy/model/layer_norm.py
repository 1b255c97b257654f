"""Layer normalisation: each token's features, centred and scaled (Ba, Kiros and Hinton 2016)."""

import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy.model.arguments import check_features, check_positive, check_size
from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Features


def normalize(x: Features, eps: float = 1e-5) -> Features:
    """`(x - mean) / √(variance + eps)` over the last axis, one mean and one variance for each token.

    The variance is the biased one, a mean over the `d_model` features. Half precision is computed in float32.
    """
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    centred = wide - wide.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return (centred / torch.sqrt(variance + eps)).to(x.dtype)


class LayerNorm(nn.Module):
    """`normalize(x) * weight + bias`, with one gain and one offset for each feature, at first 1 and 0.

    Tap: `normalized`, before gain and offset. When nobody watches it, PyTorch's fused kernel computes the same.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5):
        super().__init__()
        check_size("d_model", d_model)
        check_positive("eps", eps)
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.normalized = Tap()

    def forward(self, x: Features) -> Features:
        """The same shape and dtype as `x`, `(..., d_model)`."""
        check_features("x", x, self.d_model, self.weight.dtype)
        if self.normalized.watched:
            return (self.normalized(normalize(x, self.eps)) * self.weight + self.bias).to(x.dtype)
        return F.layer_norm(x, (self.d_model,), self.weight, self.bias, self.eps).to(x.dtype)


def final_norm(config: TransformerConfig) -> nn.Module:
    """What ends a stack: one norm where none stands on the stream itself ("pre"), else nothing."""
    return LayerNorm(config.d_model, eps=config.norm_eps) if config.norm == "pre" else nn.Identity()
