"""The encoder: identical layers with weights of their own, through which one residual stream flows."""

from torch import nn

from transformer_anatomy.model.arguments import check_ids, check_positions, check_stream
from transformer_anatomy.model.config import TransformerConfig, check_config
from transformer_anatomy.model.embedding import Embedding
from transformer_anatomy.model.feedforward import FeedForward
from transformer_anatomy.model.initialization import initialize
from transformer_anatomy.model.layer_norm import final_norm
from transformer_anatomy.model.masks import check_sample_mask
from transformer_anatomy.model.multi_head_attention import MultiHeadAttention
from transformer_anatomy.model.positions import count_positions
from transformer_anatomy.model.residual import residual_connection
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Mask, Positions, Stream, TokenIds


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network; `config.norm` says where the norms stand.

    Taps: those of `self_attention` and `feedforward`, `mid_stream` between the two, and `stream` at the end.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=config.d_model, n_heads=config.n_heads, dropout=config.dropout)
        self.self_attention_residual, self.mid_stream = residual_connection(config), Tap()
        self.feedforward = FeedForward(
            d_model=config.d_model, d_feedforward=config.d_feedforward, activation=config.activation
        )
        self.feedforward_residual, self.stream = residual_connection(config), Tap()

    def forward(self, x: Stream, mask: Mask | None = None) -> Stream:
        """The stream `(batch, position, d_model)` after both branches."""
        x = self.mid_stream(self.self_attention_residual(x, self.self_attention, mask=mask))
        return self.stream(self.feedforward_residual(x, self.feedforward))


class Encoder(nn.Module):
    """Embedding, `config.n_layers` layers, and with pre-norm one final norm (Vaswani et al. 2017, section 3.1).

    Taps: `embedded` (what enters the first layer), then those of `layers.0`, `layers.1`, and so on.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_config(config)
        self.config = config
        self.embedding = Embedding(config)
        self.embedded = Tap()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.n_layers))
        self.final_norm = final_norm(config)
        initialize(self)

    def forward(self, token_ids: TokenIds, mask: Mask | None = None, *, positions: Positions | None = None) -> Stream:
        """The last hidden states, `(batch, position, d_model)`; those of padding mean nothing, and nothing reads them.

        `mask` is boolean, True where a query may attend to a key, and broadcasts to `(batch, head, query, key)`, as
        `padding_mask` makes it; two axes are query and key. `positions` count from the first token that `mask` lets
        anyone attend to; give them to hide a first token from all without renumbering the rest.
        Raises `ValueError` or `TypeError` for what the configuration does not allow.
        """
        check_ids("token_ids", token_ids, vocab_size=self.config.vocab_size, max_length=self.config.max_length)
        batch, n = token_ids.shape
        check_sample_mask(mask, (batch, self.config.n_heads, n, n))
        if positions is None:
            positions = count_positions(n, mask, device=token_ids.device)
        check_positions(positions, token_ids, max_length=self.config.max_length)
        return self.transform(self.embedding(token_ids, positions), mask)

    def transform(self, x: Stream, mask: Mask | None = None) -> Stream:
        """What the layers make of vectors that are embedded already."""
        check_stream("x", x, self.config.d_model, self.embedding.tokens.weight.dtype)
        x = self.embedded(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.final_norm(x)
