"""Train the small grammar model with and without its residual path, at four depths: book/data/residual_depth.json.

    python experiments/residual_depth.py          # seven minutes of one core

Masked words of the small grammar, post-norm, width 64, four heads, 400 steps of AdamW at a rate of 0.001 after 50 steps
of warm-up, three seeds. "path" is the ordinary block, "no path" lets each branch replace the stream, and "shaped", at
six layers only, has no path either, but starts with weights that make each branch hand on what it gets.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer_anatomy import (
    VOCABULARY,
    LanguageModel,
    TransformerConfig,
    batch_discourses,
    fit,
    make_discourses,
    mask_tokens,
    record,
    sweep,
    token_similarity,
    unigram_entropy,
)

OUTPUT = Path(__file__).parents[1] / "book" / "data" / "residual_depth.json"
SWEEPS = (
    {"n_layers": (1, 2, 3, 6), "way": ("path", "no path"), "seed": (0, 1, 2)},
    {"n_layers": (6,), "way": ("shaped",), "seed": (0, 1, 2)},
)
N_STEPS, EVERY, D_MODEL = 400, 25, 64
VALIDATION = batch_discourses(make_discourses(200, seed=1))
HIDDEN, TARGETS = mask_tokens(VALIDATION.ids, seed=1)


def make_model(n_layers: int, way: str, seed: int) -> LanguageModel:
    """A model of `n_layers` post-norm layers; `way` is one of "path", "no path" and "shaped"."""
    torch.manual_seed(seed)
    sizes = {"d_model": D_MODEL, "n_heads": 4, "d_feedforward": 2 * D_MODEL, "max_length": 40}
    model = LanguageModel(TransformerConfig(len(VOCABULARY), n_layers=n_layers, residual=way == "path", **sizes))
    if way == "shaped":
        hand_on(model)
    return model


def hand_on(model: LanguageModel, sharpness: float = 2.0) -> None:
    """Weights with which a branch alone does what a path does: each token reads itself, and the neurons copy it.

    W_Q = W_K = `sharpness` · I makes a token match itself best, W_V = W_O = I hands over what it reads, and
    relu(x) - relu(-x) = x. Noise of a tenth of Xavier's keeps the neurons and heads from being all alike.
    """
    identity = torch.eye(D_MODEL)
    for layer in model.encoder.layers:
        attention, feedforward = layer.self_attention, layer.feedforward
        starts = {
            attention.query_projection: sharpness * identity,
            attention.key_projection: sharpness * identity,
            attention.value_projection: identity,
            attention.output_projection: identity,
            feedforward.hidden_projection: torch.cat([identity, -identity]),
            feedforward.output_projection: torch.cat([identity, -identity], dim=1),
        }
        for projection, start in starts.items():
            projection.weight.data = start + 0.1 * projection.weight.data


def masked_loss(model: nn.Module, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """Mean cross-entropy of the hidden words, in nats."""
    inputs, mask, targets = batch
    return F.cross_entropy(model(inputs, mask).flatten(0, 1), targets.flatten())


def streams(model: LanguageModel) -> Tensor:
    """What enters each layer, and what leaves the last, in the validation texts: (layer, batch, position, d_model)."""
    with torch.no_grad(), record(model.encoder, "embedded", "layers.*.stream") as trace:
        model(HIDDEN, VALIDATION.mask)
    return torch.stack(list(trace.values()))


def train(n_layers: int, way: str, seed: int, n_steps: int = N_STEPS) -> Mapping[str, float]:
    """Validation loss by step, then how alike tokens are at the end, and how far training moved the layers' inputs.

    `shift` is the mean over layers and features of |change of the mean over words| / standard deviation before.
    """
    model = make_model(n_layers, way, seed)
    text = batch_discourses(make_discourses(5000, seed=100 + seed))

    def batches(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        rows = torch.randint(len(text.ids), (32,), generator=generator)
        inputs, targets = mask_tokens(text.ids[rows], generator)
        return inputs, text.mask[rows], targets

    def evaluate(model: nn.Module) -> dict[str, float]:
        return {"validation": masked_loss(model, (HIDDEN, VALIDATION.mask, TARGETS)).item()}

    words = VALIDATION.mask[:, 0, 0]
    before = streams(model)
    start = evaluate(model)["validation"]
    options = {"learning_rate": 1e-3, "warmup": 50, "decay": "none", "seed": seed, "evaluate_every": EVERY}
    history = fit(model, batches, masked_loss, n_steps=n_steps, evaluate=evaluate, progress=False, **options)
    after = streams(model)
    moved = (after[1:, words].mean(1) - before[1:, words].mean(1)).abs() / before[1:, words].std(1)
    figures = history.dropna().set_index("step")["validation"]
    return {
        "0": start,
        **{str(step + 1): round(loss, 4) for step, loss in figures.items()},
        "similarity": token_similarity(after[-1], VALIDATION.mask).mean().item(),
        "shift": moved.mean().item(),
    }


def main() -> None:
    table = pd.concat([sweep(train, settings, n_jobs=1) for settings in SWEEPS])
    runs = [{name: row[name] for name in table} for row in table.round(4).to_dict("records")]
    steps = [name for name in table if name.isdigit()]
    kept = [{**{n: v for n, v in run.items() if n not in steps}, "loss": [run[s] for s in steps]} for run in runs]
    written = {"steps": list(map(int, steps)), "unigram": round(unigram_entropy(TARGETS), 4), "runs": kept}
    OUTPUT.write_text(json.dumps(written, indent=None, separators=(",", ":")).replace('{"n_', '\n{"n_') + "\n")
    print(table.drop(columns=steps[1:-1]).to_string())


if __name__ == "__main__":
    main()
