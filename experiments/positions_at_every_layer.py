"""Positions added once, at the input, or again before every layer: small encoders trained to say hidden words.

    python experiments/positions_at_every_layer.py

writes book/data/positions_at_every_layer.json, which the chapter six_layers reads: 20 runs, about 15 minutes on one
core. `python -c "from experiments.positions_at_every_layer import train; print(train('pre', 'sinusoidal', True, 0))"`
is one of them.
"""

import json
from pathlib import Path

import torch

from transformer_anatomy import (
    VOCABULARY,
    LanguageModel,
    TransformerConfig,
    batch_discourses,
    fit,
    make_discourses,
    mask_tokens,
    sweep,
    token_loss,
)

ARTEFACT = Path(__file__).parents[1] / "book" / "data" / "positions_at_every_layer.json"
SIZES = {"d_model": 64, "n_heads": 4, "n_layers": 6, "d_feedforward": 128}
TRAINING = {"n_steps": 600, "learning_rate": 1e-3, "warmup": 100}
EVERY = 20  # steps that share one point of the curve
SEEDS = range(3)
KINDS = [("pre", "sinusoidal"), ("post", "sinusoidal"), ("pre", "learned")]  # norm, positions


def add_positions_again(model: LanguageModel) -> None:
    """Before each layer but the first, which gets them anyway, the same vectors are added to the stream again."""
    encoder = model.encoder

    def again(layer, given):
        x, *rest = given
        return encoder.embedding.positions(x, torch.arange(x.shape[1])[None]), *rest

    for layer in encoder.layers[1:]:
        layer.register_forward_pre_hook(again)


def train(norm: str, positions: str, every_layer: bool, seed: int, n_steps: int | None = None) -> dict[str, object]:
    """One run: the loss along the way, the largest gradient norm after the warm-up, the loss on unseen discourses."""
    known, unseen = (batch_discourses(make_discourses(n, first)) for n, first in ((10_000, 0), (500, 1)))
    asked = mask_tokens(unseen.ids, 0)
    torch.manual_seed(seed)
    model = LanguageModel(TransformerConfig(len(VOCABULARY), **SIZES, norm=norm, positions=positions))
    if every_layer:
        add_positions_again(model)

    def batches(generator):
        rows = torch.randint(len(known.ids), (32,), generator=generator)
        return *mask_tokens(known.ids[rows], generator), known.mask[rows]

    def loss(model, batch):
        inputs, targets, mask = batch
        return token_loss(model(inputs, mask), targets.clamp(min=0), targets >= 0)

    history = fit(
        model,
        batches,
        loss,
        **TRAINING | ({} if n_steps is None else {"n_steps": n_steps}),
        seed=seed,
        evaluate=lambda model: {"unseen": loss(model, (*asked, unseen.mask))},
        evaluate_every=10_000,
        progress=False,
    )
    curve = history["loss"].groupby(history.index // EVERY).mean()
    return {
        "curve": json.dumps([round(value, 3) for value in curve]),
        "largest_gradient": round(float(history["gradient_norm"][TRAINING["warmup"] :].max()), 3),
        "unseen": round(float(history["unseen"].iloc[-1]), 4),
    }


def main() -> None:
    rows = []
    for norm, positions in [*KINDS, ("pre", "none")]:
        ways = [False] if positions == "none" else [False, True]
        runs = sweep(train, {"norm": [norm], "positions": [positions], "every_layer": ways, "seed": SEEDS}, n_jobs=1)
        rows += runs.to_dict("records")
    for row in rows:
        row["curve"] = json.loads(row["curve"])
    settings = SIZES | TRAINING | {"every": EVERY}
    lines = ",\n".join(json.dumps(row) for row in rows)
    ARTEFACT.write_text(f'{{"settings": {json.dumps(settings)}, "runs": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
