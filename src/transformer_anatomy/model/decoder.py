"""The decoder: layers that see the past of their own sequence, and all of one shared memory."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

from jaxtyping import Float
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_ids, check_positions, check_stream
from transformer_anatomy.model.cache import KeyValueCache, LayerCache
from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.continuation import Given
from transformer_anatomy.model.embedding import Embedding
from transformer_anatomy.model.feedforward import FeedForward
from transformer_anatomy.model.initialization import initialize
from transformer_anatomy.model.masks import causal_mask, check_sample_mask
from transformer_anatomy.model.multi_head_attention import MultiHeadAttention
from transformer_anatomy.model.positions import count_positions
from transformer_anatomy.model.residual import final_norm, residual_connection
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Mask, Memory, Stream, TokenIds

NO_CACHE = LayerCache()


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention to the memory, then a feed-forward network.

    Taps: those of `self_attention`, `cross_attention` and `feedforward`, and `stream` at the end.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        sizes = {"d_model": config.d_model, "n_heads": config.n_heads, "dropout": config.dropout}
        self.self_attention = MultiHeadAttention(**sizes)
        self.self_residual = residual_connection(config)
        self.cross_attention = MultiHeadAttention(**sizes)
        self.cross_residual = residual_connection(config)
        self.feedforward = FeedForward(
            d_model=config.d_model, d_feedforward=config.d_feedforward, activation=config.activation
        )
        self.feedforward_residual = residual_connection(config)
        self.stream = Tap()

    def forward(
        self,
        x: Stream,
        memory: Memory,
        mask: Mask | None = None,
        memory_mask: Mask | None = None,
        cache: LayerCache = NO_CACHE,
    ) -> Stream:
        look_back = partial(self.self_attention, mask=mask, cache=cache.self_attention)
        look_up = partial(self.cross_attention, memory=memory, mask=memory_mask, cache=cache.cross_attention)
        x = self.self_residual(x, look_back)
        x = self.cross_residual(x, look_up)
        return self.stream(self.feedforward_residual(x, self.feedforward))


class Decoder(nn.Module):
    """Embedding, `config.n_layers` layers that all read the same memory, and with pre-norm one final norm.

    No position sees a later one, whatever the mask. Taps: `embedded`, then those of `layers.0`, and so on.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
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
    ) -> Float[Tensor, "batch query d_model"]:
        """The last hidden states, one for each position; with a `cache`, for those that are new to it.

        `mask` hides keys of the sequence itself, its padding for one, in addition to the future; `memory_mask` hides
        those of the memory. Positions count from the first token that `mask` lets anyone attend to.
        """
        config = self.config
        check_ids("token_ids", token_ids, vocab_size=config.vocab_size, max_length=config.max_length)
        check_stream("memory", memory, config.d_model, self.embedding.tokens.weight.dtype)
        batch, n = token_ids.shape
        if memory.shape[0] != batch:
            raise ValueError(f"memory must have the batch size of token_ids, {batch}, got {memory.shape[0]}")
        check_sample_mask(mask, (batch, config.n_heads, n, n))
        check_sample_mask(memory_mask, (batch, config.n_heads, n, memory.shape[1]), "memory_mask")
        given = Given(token_ids, memory, mask, memory_mask)
        with nullcontext() if cache is None else cache.growing(self, given) as layer_caches:
            held = 0 if cache is None else cache.length
            positions = count_positions(n - held, mask, offset=held, device=token_ids.device)
            check_positions(positions, token_ids[:, held:], max_length=config.max_length)
            x = self.embedding(token_ids[:, held:], positions)
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
