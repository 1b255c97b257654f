"""The decoder: layers that see the past of their own sequence, and all of one shared memory."""

from collections.abc import Sequence
from contextlib import nullcontext

from jaxtyping import Float
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_ids, check_positions, check_stream
from transformer_anatomy.model.cache import KeyValueCache, LayerCache
from transformer_anatomy.model.config import TransformerConfig, check_config
from transformer_anatomy.model.continuation import DecoderInputs
from transformer_anatomy.model.embedding import Embedding
from transformer_anatomy.model.feedforward import FeedForward
from transformer_anatomy.model.initialization import initialize
from transformer_anatomy.model.layer_norm import final_norm
from transformer_anatomy.model.masks import causal_mask, check_sample_mask
from transformer_anatomy.model.multi_head_attention import MultiHeadAttention
from transformer_anatomy.model.positions import count_positions
from transformer_anatomy.model.residual import residual_connection
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Mask, Memory, Positions, Stream, TokenIds

NO_CACHE = LayerCache()


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the memory, then a feed-forward network.

    Taps: those of `self_attention`, `cross_attention` and `feedforward`; the stream after the first two,
    `stream_after_self_attention` and `stream_after_cross_attention`, and `stream` at the end.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        sizes = {"d_model": config.d_model, "n_heads": config.n_heads, "dropout": config.dropout}
        self.self_attention = MultiHeadAttention(**sizes)
        self.self_attention_residual, self.stream_after_self_attention = residual_connection(config), Tap()
        self.cross_attention = MultiHeadAttention(**sizes)
        self.cross_attention_residual, self.stream_after_cross_attention = residual_connection(config), Tap()
        self.feedforward = FeedForward(
            d_model=config.d_model, d_feedforward=config.d_feedforward, activation=config.activation
        )
        self.feedforward_residual, self.stream = residual_connection(config), Tap()

    def forward(
        self,
        x: Stream,
        memory: Memory,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache = NO_CACHE,
    ) -> Stream:
        """The stream `(batch, position, d_model)` after all three branches."""
        own, shared = cache
        x = self.self_attention_residual(x, self.self_attention, mask=mask, cache=own)
        x = self.stream_after_self_attention(x)
        x = self.cross_attention_residual(x, self.cross_attention, memory=memory, mask=memory_mask, cache=shared)
        x = self.stream_after_cross_attention(x)
        return self.stream(self.feedforward_residual(x, self.feedforward))


class Decoder(nn.Module):
    """Embedding, `config.n_layers` layers that all read the same memory, and with pre-norm one final norm.

    No position sees a later one, whatever the mask. Taps: `embedded`, then those of `layers.0`, and so on.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_config(config)
        self.config = config
        self.embedding = Embedding(config)
        self.embedded = Tap()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_layers))
        self.final_norm = final_norm(config)
        initialize(self)

    def forward(
        self,
        token_ids: TokenIds,
        memory: Memory,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: KeyValueCache | None = None,
        *,
        positions: Positions | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """The last hidden states, one for each position; with a `cache`, for those that are new to it.

        `mask` hides keys of the sequence itself, its padding for one, in addition to the future; `memory_mask` hides
        those of the memory. `positions` count from the first token that anyone may attend to, unless they are given.
        """
        config, dtype = self.config, self.embedding.tokens.weight.dtype
        check_ids("token_ids", token_ids, vocab_size=config.vocab_size, max_length=config.max_length)
        check_stream("memory", memory, config.d_model, dtype)
        batch, n = token_ids.shape
        if memory.shape[0] != batch:
            raise ValueError(f"memory must have the batch size of token_ids, {batch}, got {memory.shape[0]}")
        check_sample_mask(mask, (batch, config.n_heads, n, n))
        check_sample_mask(memory_mask, (batch, config.n_heads, n, memory.shape[1]), "memory_mask")
        if positions is None:
            positions = count_positions(n, _without_future(mask), device=token_ids.device)
        check_positions(positions, token_ids, max_length=config.max_length)
        inputs = DecoderInputs(token_ids, memory, mask, memory_mask, positions)
        with nullcontext() if cache is None else cache.growing(self, inputs) as layer_caches:
            held = 0 if cache is None else cache.length
            x = self.embedding(token_ids[:, held:], positions[:, held:])
            return self.transform(x, memory, mask, memory_mask, layer_caches)

    def transform(
        self,
        x: Stream,
        memory: Memory,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        layer_caches: Sequence[LayerCache] | None = None,
    ) -> Stream:
        """What the layers make of vectors that are embedded already."""
        check_stream("x", x, self.config.d_model, self.embedding.tokens.weight.dtype)
        n = x.shape[1]
        held = 0 if layer_caches is None else layer_caches[0].self_attention.length
        visible = causal_mask(n, held + n, device=x.device)
        if mask is not None:
            visible = visible & _last_queries(mask, n)
        if memory_mask is not None:
            memory_mask = _last_queries(memory_mask, n)
        x = self.embedded(x)
        for layer, layer_cache in zip(self.layers, layer_caches or [NO_CACHE] * len(self.layers), strict=True):
            x = layer(x, memory, visible, memory_mask, layer_cache)
        return self.final_norm(x)


def _last_queries(mask: Mask, n: int) -> Mask:
    return mask if mask.dim() < 2 or mask.shape[-2] == 1 else mask[..., -n:, :]


def _without_future(mask: Mask | None) -> Mask | None:
    if mask is None or mask.dim() < 2 or mask.shape[-2] == 1:
        return mask
    return mask & causal_mask(*mask.shape[-2:], device=mask.device)
