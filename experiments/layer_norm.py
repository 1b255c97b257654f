"""Where the norm stands, and what training makes of it: the table behind book/layer_norm.ipynb.

    python experiments/layer_norm.py

trains small models to say the next word of the grammar, and writes book/data/layer_norm.json. Finished runs are kept
in a folder below _build, so that a stopped sweep goes on; all of them take about ten minutes on one idle core.
"""

import json
import math
from functools import cache
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from transformer_anatomy import (
    VOCABULARY,
    LanguageModel,
    LayerNorm,
    TransformerConfig,
    batch_discourses,
    causal_mask,
    fit,
    make_discourses,
    next_token_pairs,
    sweep,
    token_loss,
    unigram_entropy,
)

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "book" / "data" / "layer_norm.json"
RUNS = ROOT / "_build" / "layer_norm"
N_STEPS, EVERY = 150, 30
SHAKES = {"shaken": 0.1, "shaken hard": 0.5}


@cache
def texts(n: int, seed: int):
    return batch_discourses(make_discourses(n, seed))


@cache
def held_out():
    """200 discourses that no run trains on."""
    return texts(200, 1)


def next_word_loss(model, batch):
    """Mean loss of the next word, in nats; padding does not count."""
    inputs, targets = next_token_pairs(batch[0])
    mask = batch[1][..., :-1] & causal_mask(inputs.shape[1])
    return token_loss(model(inputs, mask), targets, batch[1][:, 0, 0, 1:])


def build(norm: str, n_layers: int, start: str, residual: bool, seed: int) -> LanguageModel:
    """An encoder of width 64; `start` is "xavier" or "default", PyTorch's smaller weights for linear maps."""
    torch.manual_seed(seed)
    config = TransformerConfig(
        len(VOCABULARY), 64, 4, n_layers, 128, norm="post" if norm == "batch" else norm, residual=residual
    )
    model = LanguageModel(config)
    for module in model.modules():
        if start == "default" and isinstance(module, nn.Linear):
            module.reset_parameters()
    return model


class BatchNorm(nn.Module):
    """BatchNorm of each feature over all words of the batch; padding does not count."""

    def __init__(self, d_model: int, seen: dict):
        super().__init__()
        self.norm, self.seen = nn.BatchNorm1d(d_model), seen

    def forward(self, x):
        words = self.seen["words"]
        return torch.zeros_like(x).masked_scatter(words[..., None], self.norm(x[words]))


def use_batch_norm(model: nn.Module) -> None:
    """Puts a BatchNorm where each LayerNorm stands."""
    seen = {}
    model.register_forward_pre_hook(lambda _, given: seen.update(words=given[1][:, 0, -1]))
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, LayerNorm):
                setattr(module, name, BatchNorm(child.d_model, seen))


def shake(model: nn.Module, size: float, seed: int) -> None:
    """In training, each LayerNorm's output gets a new scale and a new offset of `size` for each feature, each step."""
    generator = torch.Generator().manual_seed(seed)

    def noisy(module, _, output):
        if not module.training:
            return output
        scale, offset = torch.randn(2, output.shape[-1], generator=generator)
        return output * (size * scale).exp() + size * offset

    for module in model.modules():
        if isinstance(module, LayerNorm):
            module.register_forward_hook(noisy)


def branch_inputs(model: nn.Module) -> list[torch.Tensor]:
    """What every attention and feed-forward branch reads of the held-out words, as (word, feature)."""
    data = held_out()
    ids, mask = data.ids[:32], data.mask[:32]
    found = []
    branches = [layer.get_submodule(b) for layer in model.encoder.layers for b in ("self_attention", "feedforward")]
    handles = [b.register_forward_pre_hook(lambda _, given: found.append(given[0])) for b in branches]
    model(ids, mask & causal_mask(ids.shape[1]))
    for handle in handles:
        handle.remove()
    return [x[mask[:, 0, 0]] for x in found]


def train(norm, learning_rate, warmup, n_layers, start, residual, change, seed):
    """One run: validation loss by step, training loss, largest gradient, drift of the branches' inputs in 30 steps."""
    model = build(norm, n_layers, start, residual, seed)
    data, rows_of = texts(4000, 0), 200 if change.startswith("few") else 4000
    batch_size = 1 if change == "one text" else 16
    if norm == "batch":
        use_batch_norm(model)
    if change in SHAKES:
        shake(model, SHAKES[change], seed)
    if change.endswith("no gain"):
        for module in model.modules():
            if isinstance(module, LayerNorm):
                module.requires_grad_(False)

    def batches(generator):
        rows = torch.randint(rows_of, (batch_size,), generator=generator)
        return data.ids[rows], data.mask[rows]

    inputs = []

    @torch.no_grad()
    def evaluate(model):
        inputs.append(branch_inputs(model))
        return {"validation": next_word_loss(model, (held_out().ids, held_out().mask)).item()}

    try:
        history = fit(
            model,
            batches,
            next_word_loss,
            n_steps=N_STEPS,
            learning_rate=learning_rate,
            warmup=warmup,
            decay="none",
            clip=None,
            seed=seed,
            evaluate=evaluate,
            evaluate_every=EVERY,
        )
    except FloatingPointError:  # the loss is no number any more
        return {"validation": None}
    curve, moves = history.validation.dropna().tolist(), list(map(drift, inputs, inputs[1:]))
    return {
        "validation": curve[-1],
        "curve": " ".join(f"{value:.3f}" for value in curve),
        "training": history.loss.tail(20).mean(),
        "largest_gradient": history.gradient_norm.max(),
        "drift": sum(moves) / len(moves) if moves else None,
    }


def drift(before: list[torch.Tensor], after: list[torch.Tensor]) -> float:
    """How far the mean of a feature moved, in its standard deviations; averaged over features and branches."""
    moved = [((y.mean(0) - x.mean(0)).abs() / x.std(0)).mean() for x, y in zip(before, after, strict=True)]
    return torch.stack(moved).mean().item()


def runs(**settings) -> pd.DataFrame:
    """A sweep over `settings`; what is not named is six layers, Xavier's weights, a warm-up, and three seeds."""
    usual = {"norm": ["post"], "learning_rate": [2e-3], "warmup": [50], "n_layers": [6], "start": ["xavier"]}
    usual |= {"residual": [True], "change": [""], "seed": [0, 1, 2]}
    return pd.concat([sweep(train, usual | one, n_jobs=1, folder=RUNS / name) for name, one in settings.items()])


SWEEPS = {
    "rates": {"norm": ["post", "pre", "none"], "learning_rate": [1e-3, 2e-3, 5e-3, 1e-2], "warmup": [0, 50]},
    "start": {"norm": ["post", "pre", "none"], "start": ["default"]},
    "residual": {"norm": ["post", "none"], "residual": [False]},
    "shaken": {"change": list(SHAKES)},
    "batch": {"norm": ["batch"]},
    "gain": {"change": ["no gain", "few", "few no gain"]},
    "one text": {"norm": ["post", "batch"], "change": ["one text"]},
}


def main() -> None:
    torch.set_num_threads(1)
    table = runs(**SWEEPS)
    rows = json.loads(table.to_json(orient="records", double_precision=4))
    for row in rows:  # a run that broke down has no loss: beyond all numbers
        row["curve"] = list(map(float, (row["curve"] or "").split())) or [math.inf] * (N_STEPS // EVERY)
        row["validation"] = row["curve"][-1]
    lines = ",\n".join(map(json.dumps, rows))
    TABLE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    unigram = unigram_entropy(texts(4000, 0).ids[:, 1:][texts(4000, 0).mask[:, 0, 0, 1:]])
    print(f"{len(rows)} runs; the next word without context: {unigram:.3f} nats")


if __name__ == "__main__":
    main()
