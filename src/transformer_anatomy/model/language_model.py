"""An encoder that says words: of masked ones which they were, or at each position which one comes next."""

from torch import nn

from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.encoder import Encoder
from transformer_anatomy.model.initialization import initialize
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.model.transformer import TiedProjection
from transformer_anatomy.shapes import Logits, Mask, TokenIds


class LanguageModel(nn.Module):
    """An `Encoder` and the projection of its states to the vocabulary. What it models is a matter of the mask.

    With a `padding_mask` every position sees all words, and the model says what was hidden (Devlin et al. 2019); with
    `causal_mask` it sees none that come later, and says the next one. With `config.tie_weights` embedding and
    projection are one matrix. Taps: those of `encoder`, and `logits`.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        if config.tie_weights:
            self.output_projection = TiedProjection(self.encoder.embedding.tokens)
        else:
            self.output_projection = nn.Linear(config.d_model, config.vocab_size, bias=False)
            initialize(self.output_projection)
        self.logits = Tap()

    def forward(self, token_ids: TokenIds, mask: Mask | None = None) -> Logits:
        """Logits at each position, `(batch, position, vocab_size)`; softmax is not applied. `mask` as in `Encoder`."""
        return self.logits(self.output_projection(self.encoder(token_ids, mask)))
