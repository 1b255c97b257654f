"""The whole Transformer: an encoder, a decoder that reads its memory, and the projection to the vocabulary."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_ids, check_stream
from transformer_anatomy.model.cache import KeyValueCache
from transformer_anatomy.model.config import TransformerConfig, check_config
from transformer_anatomy.model.decoder import Decoder
from transformer_anatomy.model.encoder import Encoder
from transformer_anatomy.model.initialization import initialize
from transformer_anatomy.model.masks import check_sample_mask, visible_keys
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Logits, Mask, Memory, Stream, TokenIds


class TiedProjection(nn.Module):
    """The token vectors as output weights: the logit of a token is its product with the stream (Press and Wolf 2017).

    It holds the embedding itself and no parameter of its own, so that moving, copying and loading keep them tied.
    """

    def __init__(self, tokens: nn.Embedding):
        super().__init__()
        self.tokens = tokens

    def forward(self, x: Stream) -> Logits:
        return F.linear(x, self.tokens.weight)


class Transformer(nn.Module):
    """Encoder and decoder of the same `config`, which share one vocabulary (Vaswani et al. 2017, figure 1).

    With `config.tie_weights` the two embeddings and the output projection are one matrix. Taps: those of `encoder` and
    `decoder`, and `logits`.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_config(config)
        self.config = config
        self.encoder, self.decoder = Encoder(config), Decoder(config)
        if config.tie_weights:
            self.decoder.embedding.tokens = self.encoder.embedding.tokens
            self.output_projection = TiedProjection(self.encoder.embedding.tokens)
        else:
            self.output_projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
            initialize(self.output_projection)
        self.logits = Tap()

    def forward(
        self,
        source_ids: Int[Tensor, "batch key"],
        target_ids: TokenIds,
        source_mask: Mask | None = None,
        target_mask: Mask | None = None,
    ) -> Logits:
        """Logits of the next token at each target position, `(batch, position, vocab_size)`; softmax is not applied.

        The masks hide keys of their own sequence, as `padding_mask` makes them; the target's future is always hidden.
        """
        memory = self.encode(source_ids, source_mask)
        if len(target_ids) != len(source_ids):
            raise ValueError(
                f"target_ids must have the batch size of source_ids, {len(source_ids)}, got {len(target_ids)}"
            )
        return self.decode(target_ids, memory, target_mask=target_mask, source_mask=source_mask)

    def encode(self, source_ids: TokenIds, source_mask: Mask | None = None) -> Memory:
        """The memory that every decoder layer reads, `(batch, position, d_model)`."""
        self._check("source", source_ids, source_mask)
        return self.encoder(source_ids, source_mask)

    def decode(
        self,
        target_ids: TokenIds,
        memory: Memory,
        *,
        target_mask: Mask | None = None,
        source_mask: Mask | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch query vocabulary"]:
        """Logits at the target positions, with a `cache` at those that are new to it.

        Of `source_mask` the padding counts here: what no source position may attend to, no target position may.
        """
        self._check("target", target_ids, target_mask)
        check_stream("memory", memory, self.config.d_model, self.decoder.embedding.tokens.weight.dtype)
        if len(memory) != len(target_ids):
            raise ValueError(f"memory must have the batch size of target_ids, {len(target_ids)}, got {len(memory)}")
        batch, n_source, _ = memory.shape
        check_sample_mask(source_mask, (batch, self.config.n_heads, n_source, n_source), "source_mask")
        source_mask = None if source_mask is None else visible_keys(source_mask)
        stream = self.decoder(target_ids, memory, target_mask, source_mask, cache)
        return self.logits(self.output_projection(stream))

    def _check(self, side: str, ids: TokenIds, mask: Mask | None) -> None:
        check_ids(f"{side}_ids", ids, vocab_size=self.config.vocab_size, max_length=self.config.max_length)
        batch, n = ids.shape
        check_sample_mask(mask, (batch, self.config.n_heads, n, n), f"{side}_mask")
