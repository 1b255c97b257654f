"""Train the patients of the chapter on gradient pathologies: three seeds each.

    python experiments/gradient_pathologies.py

writes book/data/gradient_pathologies.json. It takes about five minutes of one core; `--jobs 2` shares them out.
"""

import argparse
import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

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
    layer_gradients,
    make_discourses,
    mask_tokens,
    sweep,
    token_loss,
    unigram_entropy,
)

TABLE = Path(__file__).parents[1] / "book" / "data" / "gradient_pathologies.json"
EVERY = 20  # steps between two looks at the held-out text
N_TRAIN, BATCH, PROBE = 2000, 16, 64
N_SPECIALS, SEP = 4, 2
Batch = tuple[Tensor, Tensor, Tensor]  # inputs, targets (-100 where nothing is asked), padding mask


class Case(NamedTuple):
    """One way to build a model and to train it; the default is the healthy one."""

    norm: str = "pre"
    residual: bool = True
    start: float = 1.0  # what every matrix of a layer is multiplied by before training
    identity: float | None = None  # W_Q = W_K = this multiple of I
    in_layers: int = 6  # the lowest so many
    scaled: bool = True  # False: scores are not divided by √d_head
    teachers: int = 1
    marked: bool = False  # the second teacher's samples begin with [SEP] in place of [CLS]
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW
    rate: float = 2e-3
    warmup: int = 40
    decay: str = "none"
    loss_factor: float = 1.0
    n_steps: int = 160


POST = {"norm": "post", "rate": 1e-3, "n_steps": 200}  # at twice the rate it may not begin to learn
SGD = {"optimizer": torch.optim.SGD, "rate": 0.2}
CASES = {
    "healthy": Case(),
    "vanishing": Case(norm="none", residual=False, start=0.5),
    "residual back": Case(norm="none", start=0.5),
    "norm only": Case(norm="post", residual=False, start=0.5),
    "exploding": Case(norm="none", start=1.5),
    "norm back": Case(norm="pre", start=1.5),
    "two teachers": Case(teachers=2, decay="cosine"),
    "told apart": Case(teachers=2, marked=True, decay="cosine"),
    "tiny loss": Case(optimizer=partial(torch.optim.AdamW, eps=1e-16), loss_factor=1e-8),
    "healthy, SGD": Case(**SGD),
    "vanishing, SGD": Case(norm="none", residual=False, start=0.5, **SGD),
    "post-norm": Case(**POST),
    "10·I": Case(**POST, identity=10.0),
    "10·I, not divided": Case(**POST, identity=10.0, scaled=False),
    "10·I, not divided, 3 layers": Case(**POST, identity=10.0, scaled=False, in_layers=3),
    "I, 3 layers": Case(**POST, identity=1.0, in_layers=3),
    "I/√d": Case(**POST, identity=0.25),
}


def build(case: Case, seed: int) -> LanguageModel:
    """A model of six layers, its matrices as the case asks."""
    torch.manual_seed(seed)
    structure = {"norm": case.norm, "residual": case.residual}
    model = LanguageModel(TransformerConfig(len(VOCABULARY), 64, 4, 6, 128, **structure))
    for i, layer in enumerate(model.encoder.layers):
        for p in layer.parameters():
            if p.dim() > 1:
                p.data.mul_(case.start)
        attention = layer.self_attention
        if case.identity is not None and i < case.in_layers:
            for projection in (attention.query_projection, attention.key_projection):
                nn.init.eye_(projection.weight).data.mul_(case.identity)
        if not case.scaled and i < case.in_layers:
            attention.query_projection.weight.data.mul_(math.sqrt(64 / attention.n_heads))
    return model


data = batch_discourses(make_discourses(2128, 0))


def ask(rows: Tensor, generator: torch.Generator) -> Batch:
    """Discourses with some words hidden, which of them to say, and the padding mask."""
    return *mask_tokens(data.ids[rows], generator), data.mask[rows]


def of_second_teacher(batch: Batch, marked: bool) -> Batch:
    """The same questions, but the right word stands 53 places further in the vocabulary."""
    inputs, targets, mask = batch
    further = (targets - N_SPECIALS + 53) % (len(VOCABULARY) - N_SPECIALS) + N_SPECIALS
    inputs = inputs.clone()
    if marked:
        inputs[:, 0] = SEP
    return inputs, further.where(targets >= 0, targets), mask


def draw(case: Case, generator: torch.Generator) -> Batch:
    """A training batch; with two teachers the second half is the second one's."""
    batch = ask(torch.randint(N_TRAIN, (BATCH,), generator=generator), generator)
    if case.teachers == 1:
        return batch
    half = BATCH // 2
    second = of_second_teacher(tuple(part[half:] for part in batch), case.marked)
    return tuple(torch.cat([one[:half], two]) for one, two in zip(batch, second, strict=True))


def word_loss(model: nn.Module, batch: Batch) -> Tensor:
    """Nats for each word asked for."""
    inputs, targets, mask = batch
    return token_loss(model(inputs, mask), targets.clamp(min=0), targets >= 0)


HELD_OUT = ask(torch.arange(N_TRAIN, len(data.ids)), torch.Generator().manual_seed(99))


def held_out_loss(case: Case, model: nn.Module) -> float:
    """Mean over the teachers."""
    asked = [HELD_OUT] + [of_second_teacher(HELD_OUT, case.marked)] * (case.teachers - 1)
    return sum(word_loss(model, batch).item() for batch in asked) / len(asked)


def layer_vectors(model: LanguageModel, batch: Batch) -> list[Tensor]:
    """The gradient of each layer as one vector, over the batch."""
    model.zero_grad()
    word_loss(model, batch).backward()
    return [torch.cat([p.grad.flatten() for p in layer.parameters()]) for layer in model.encoder.layers]


def layer_sizes(weights: list[Tensor], before: list[Tensor]) -> Tensor:
    """‖W − W before‖ / ‖W‖ of each layer."""
    pairs = zip(weights, before, strict=True)
    return torch.stack([(now - then).norm() / now.norm() for now, then in pairs])


def layer_weights(model: LanguageModel) -> list[Tensor]:
    return [torch.cat([p.detach().flatten() for p in layer.parameters()]) for layer in model.encoder.layers]


def run(name: str, seed: int, n_steps: int | None = None) -> dict[str, float]:
    """The losses of one training, and what the gauges say at its end, layers numbered from 1.

    `gradient`, `cosine` (of neighbouring layers), `batch` and `between` (cosines of two batches, of one teacher and of
    two), `update` (‖ΔW‖/‖W‖ of the last step), `moved` (since the start).
    """
    case = CASES[name]
    n_steps = n_steps or case.n_steps
    model = build(case, seed)
    start = layer_weights(model)
    before = []

    def batches(generator: torch.Generator) -> Batch:
        before[:] = layer_weights(model)  # drawn just before each step, so that at the end these are the last ones
        return draw(case, generator)

    history = fit(
        model,
        batches,
        lambda model, batch: case.loss_factor * word_loss(model, batch),
        n_steps=n_steps,
        learning_rate=case.rate,
        warmup=case.warmup,
        decay=case.decay,
        clip=None,
        optimizer=case.optimizer,
        seed=seed,
        evaluate=lambda model: {"held_out": held_out_loss(case, model)},
        evaluate_every=EVERY,
        progress=False,
    )
    figures = {f"loss {step}": history.held_out[step - 1] for step in range(EVERY, n_steps + 1, EVERY)}
    figures["largest gradient"] = history.gradient_norm.max()
    now = layer_weights(model)
    probes = [ask(torch.arange(i * PROBE, (i + 1) * PROBE), torch.Generator().manual_seed(i)) for i in (0, 1)]
    one = layer_vectors(model, probes[0])
    (stack,) = layer_gradients(model)
    two = layer_vectors(model, probes[1])
    other = layer_vectors(model, of_second_teacher(probes[1], case.marked))
    rows = {
        "gradient": case.loss_factor * torch.tensor(stack.norms, dtype=torch.float64),
        "cosine": stack.cosines,
        "batch": [F.cosine_similarity(a, b, dim=0) for a, b in zip(one, two, strict=True)],
        "between": [F.cosine_similarity(a, b, dim=0) for a, b in zip(one, other, strict=True)],
        "update": layer_sizes(now, before),
        "moved": layer_sizes(now, start),
    }
    figures |= {f"{row} {i}": value for row, values in rows.items() for i, value in enumerate(values, start=1)}
    return {key: float(f"{float(value):.4g}") for key, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--folder", help="keep each result here, and go on from there")
    given = parser.parse_args()
    table = sweep(run, {"name": list(CASES), "seed": range(3)}, n_jobs=given.jobs, folder=given.folder)
    table.insert(2, "steps", [CASES[name].n_steps for name in table["name"]])
    table.insert(0, "unigram", unigram_entropy(HELD_OUT[1]))
    write(table)


def write(table: pd.DataFrame) -> None:
    """The table as JSON, a line for each training."""
    made = [{key: value for key, value in row.items() if value == value} for row in table.to_dict(orient="records")]
    rows = [json.dumps(row, ensure_ascii=False) for row in made]
    TABLE.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
