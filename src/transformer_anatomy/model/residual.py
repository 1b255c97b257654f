"""How a branch (attention, feed-forward) joins the residual stream, and where the norm stands."""

from collections.abc import Callable

from torch import nn

from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.layer_norm import LayerNorm
from transformer_anatomy.shapes import Stream

Branch = Callable[..., Stream]  # the stream, and what else it is given, to an update


class Add(nn.Module):
    """The stream goes on, and the update of a branch is added to it (He et al. 2016)."""

    def forward(self, x: Stream, update: Stream) -> Stream:
        return x + update


class Replace(nn.Module):
    """The stream ends here, and the update takes its place: a Transformer without residual connections."""

    def forward(self, x: Stream, update: Stream) -> Stream:
        return update


class Residual(nn.Module):
    """A connection around a branch; its kinds differ in where the norm stands. Call it with the stream and the branch.

    Dropout falls on the update, before it joins. Without residual connections the update takes the place of the sum.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.join = Add() if config.residual else Replace()


class NoNorm(Residual):
    """`x + branch(x)`."""

    def forward(self, x: Stream, branch: Branch, **given: object) -> Stream:
        return self.join(x, self.dropout(branch(x, **given)))


class WithNorm(Residual):
    """A connection that has a norm of its own."""

    def __init__(self, config: TransformerConfig):
        super().__init__(config)
        self.norm = LayerNorm(config.d_model, eps=config.norm_eps)


class PostNorm(WithNorm):
    """`norm(x + branch(x))`: the norm stands on the stream itself (Vaswani et al. 2017, section 3.1)."""

    def forward(self, x: Stream, branch: Branch, **given: object) -> Stream:
        return self.norm(self.join(x, self.dropout(branch(x, **given))))


class PreNorm(WithNorm):
    """`x + branch(norm(x))`: the norm stands on the way into the branch, the stream stays free (Xiong et al. 2020)."""

    def forward(self, x: Stream, branch: Branch, **given: object) -> Stream:
        return self.join(x, self.dropout(branch(self.norm(x), **given)))


def residual_connection(config: TransformerConfig) -> Residual:
    """A connection of the kind that `config` asks for, with a norm of its own; call it with the stream and a branch."""
    return {"none": NoNorm, "post": PostNorm, "pre": PreNorm}[config.norm](config)
