"""Models on which `examine` is measured: other kinds, sizes and seeds than those that its tests use, healthy and sick.

Each function returns a model and a loss that draws fresh data from PyTorch's random state. The task is to tell the
token before (or, of a picture, which of four patterns it shows), so that the models can also be trained.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_anatomy import Encoder, TransformerConfig, causal_mask

VOCAB_SIZE, BATCH = 40, 12
Loss = Callable[[nn.Module], Tensor]


class Words(nn.Module):
    """A body between an embedding with positions and a map to the vocabulary."""

    def __init__(self, body: nn.Module, width: int, n: int):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB_SIZE, width), nn.Embedding(n, width)
        self.body, self.head = body, nn.Linear(width, VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.body(self.words(ids) + self.places.weight[: ids.shape[1]]))


class Logits(nn.Module):
    """A model of Hugging Face without its dictionary of outputs, or ours with a head."""

    def __init__(self, model: nn.Module, width: int = 0, **inputs):
        super().__init__()
        self.model, self.head, self.inputs = model, nn.Linear(width, VOCAB_SIZE) if width else None, inputs

    def forward(self, ids: Tensor) -> Tensor:
        out = self.model(ids, *self.inputs.values())
        out = out if isinstance(out, Tensor) else out[0]
        return out if self.head is None else self.head(out)


def before(model: nn.Module, *, n: int) -> Tensor:
    ids = torch.randint(0, VOCAB_SIZE, (BATCH, n))
    return F.cross_entropy(model(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())


def pattern(model: nn.Module, *, shape: tuple[int, ...]) -> Tensor:
    kinds = torch.randint(0, 4, (4 * BATCH,))
    shown = torch.randn(4, *shape, generator=torch.Generator().manual_seed(5))[kinds]
    out = model(shown + torch.randn(len(kinds), *shape))
    return F.cross_entropy(out if isinstance(out, Tensor) else out.logits, kinds)


def ours(norm: str, d: int, heads: int, layers: int, n: int, causal: bool = False, **more) -> tuple[nn.Module, Loss]:
    config = TransformerConfig(VOCAB_SIZE, d, heads, layers, 4 * d, max_length=n, norm=norm, **more)
    mask = {"mask": causal_mask(n)} if causal else {}
    return Logits(Encoder(config), d, **mask), partial(before, n=n)


def in_torch(d: int, heads: int, layers: int, n: int, **more) -> tuple[nn.Module, Loss]:
    layer = nn.TransformerEncoderLayer(d, heads, 4 * d, batch_first=True, **more)
    return Words(nn.TransformerEncoder(layer, layers, enable_nested_tensor=False), d, n), partial(before, n=n)


def bert(d: int, heads: int, layers: int, n: int) -> tuple[nn.Module, Loss]:
    from transformers import BertConfig, BertForMaskedLM

    sizes = {"hidden_size": d, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": 4 * d}
    return Logits(BertForMaskedLM(BertConfig(vocab_size=VOCAB_SIZE, **sizes))), partial(before, n=n)


def gpt2(d: int, heads: int, layers: int, n: int) -> tuple[nn.Module, Loss]:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(vocab_size=VOCAB_SIZE, n_embd=d, n_head=heads, n_layer=layers, bos_token_id=0, eos_token_id=0)
    return Logits(GPT2LMHeadModel(config)), partial(before, n=n)


def vit(d: int, heads: int, layers: int) -> tuple[nn.Module, Loss]:
    from transformers import ViTConfig, ViTForImageClassification

    sizes = {"hidden_size": d, "num_attention_heads": heads, "num_hidden_layers": layers, "intermediate_size": 4 * d}
    config = ViTConfig(image_size=16, patch_size=4, num_labels=4, **sizes)
    return ViTForImageClassification(config), partial(pattern, shape=(3, 16, 16))


class MixerBlock(nn.Module):
    def __init__(self, n: int, width: int):
        super().__init__()
        self.norm, self.other_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(n, 2 * n), nn.GELU(), nn.Linear(2 * n, n))
        self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.other_norm(x))


def mixer(d: int, layers: int, n: int) -> tuple[nn.Module, Loss]:
    body = nn.Sequential(*(MixerBlock(n, d) for _ in range(layers)), nn.LayerNorm(d))
    return Words(body, d, n), partial(before, n=n)


class ResidualBlock(nn.Module):
    def __init__(self, width: int, convolution: type, norm: type):
        super().__init__()
        self.branch = nn.Sequential(
            *(convolution(width, width, 3, padding=1), norm(width), nn.ReLU()),
            *(convolution(width, width, 3, padding=1), norm(width)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.branch(x))


def resnet(width: int, layers: int, *, axes: int = 2) -> tuple[nn.Module, Loss]:
    convolution, norm = (nn.Conv2d, nn.BatchNorm2d) if axes == 2 else (nn.Conv1d, nn.BatchNorm1d)
    pool = nn.AdaptiveAvgPool2d(1) if axes == 2 else nn.AdaptiveAvgPool1d(1)
    blocks = [ResidualBlock(width, convolution, norm) for _ in range(layers)]
    model = nn.Sequential(convolution(3, width, 3, padding=1), *blocks, pool, nn.Flatten(), nn.Linear(width, 4))
    return model, partial(pattern, shape=(3, *(axes * [12])))


def perceptron(width: int, layers: int, activation: type) -> tuple[nn.Module, Loss]:
    hidden = [part for _ in range(layers) for part in (nn.Linear(width, width), activation())]
    return nn.Sequential(*hidden, nn.Linear(width, 4)), partial(pattern, shape=(width,))


HEALTHY = {
    **{f"ours, {norm}, {d}/{heads}, {layers} layers": partial(ours, norm, d, heads, layers, n)
       for norm in ("pre", "post") for d, heads, layers, n in ((48, 4, 3, 20), (160, 10, 8, 40), (96, 3, 14, 12))},
    "ours, one head, pre": partial(ours, "pre", 64, 1, 2, 16),
    "ours, one head, post": partial(ours, "post", 64, 1, 2, 16),
    "ours, causal pre, learned": partial(ours, "pre", 80, 5, 5, 33, causal=True, positions="learned"),
    "ours, causal post, 100 tokens": partial(ours, "post", 80, 2, 4, 100, causal=True, dropout=0.1),
    **{f"nn.TransformerEncoder, {'pre' if first else 'post'}, {d}/{heads}, {layers} layers":
       partial(in_torch, d, heads, layers, n, norm_first=first, activation=activation)
       for first in (True, False)
       for d, heads, layers, n, activation in ((48, 3, 4, 18, "relu"), (144, 12, 9, 30, "gelu"))},
    "BERT 96/6, 5 layers": partial(bert, 96, 6, 5, 26),
    "BERT 192/12, 12 layers": partial(bert, 192, 12, 12, 16),
    "GPT-2 96/6, 5 layers": partial(gpt2, 96, 6, 5, 26),
    "GPT-2 160/5, 16 layers": partial(gpt2, 160, 5, 16, 16),
    "ViT 96/6, 6 layers": partial(vit, 96, 6, 6),
    "Mixer 64, 6 layers": partial(mixer, 64, 6, 22),
    "ResNet 24, 6 blocks": partial(resnet, 24, 6),
    "Conv1d 24, 6 blocks": partial(resnet, 24, 6, axes=1),
    "perceptron 96, 3 layers, ReLU": partial(perceptron, 96, 3, nn.ReLU),
    "perceptron 40, 6 layers, Tanh": partial(perceptron, 40, 6, nn.Tanh),
    "perceptron 128, 6 layers, GELU": partial(perceptron, 128, 6, nn.GELU),
}  # fmt: skip
