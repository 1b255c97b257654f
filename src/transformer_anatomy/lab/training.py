"""Train a small model: a plain loop that can be read, stopped, continued, and repeated to the last digit."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from transformer_anatomy.lab.checkpoint import load_checkpoint, save_checkpoint
from transformer_anatomy.lab.parallel import joined_processes, rank
from transformer_anatomy.lab.progress import interruptible, progress_bar
from transformer_anatomy.lab.schedule import learning_rate_factor
from transformer_anatomy.lab.step import Batches, Evaluate, Loss, evaluated, take_step
from transformer_anatomy.model.arguments import check_positive, check_size


def fit(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    *,
    n_steps: int,
    learning_rate: float = 1e-3,
    warmup: int = 0,
    decay: str = "cosine",
    clip: float | None = 1.0,
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW,
    seed: int = 0,
    evaluate: Evaluate | None = None,
    evaluate_every: int = 100,
    patience: int | None = None,
    checkpoint: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Train `model` where it is; returns the history, a row for each step, with the figures of `evaluate` where due.

    Step `i` draws its batch, and what is random in the model, from `seed` and `i` alone, so that a run is repeated by
    its seed, and one that was stopped by Ctrl-C goes on from its `checkpoint` as if it had not been. Under `torchrun`
    each process computes its share of every batch.

    | argument | what it decides |
    |---|---|
    | `batches` | makes the batch of a step from a random generator |
    | `loss` | takes the model and a batch; a mean over the samples |
    | `learning_rate`, `warmup`, `decay` | the highest rate, and `learning_rate_factor` |
    | `clip` | the largest gradient norm that a step may use; None: any |
    | `evaluate` | takes the model, in evaluation mode; figures by name, the first of which is better when lower |
    | `patience` | stop when that figure has not improved in so many evaluations |
    | `checkpoint` | a safetensors file, written at each evaluation and at the end; one that exists is continued |
    | `progress` | whether to show a bar; by default where a person is watching |

    Raises `FloatingPointError` with step and module when a loss or a gradient is not finite, `ValueError` for a setting
    that makes no sense and for a checkpoint of another run, `KeyboardInterrupt` after the step during which it came.
    """
    check_size("n_steps", n_steps)
    check_size("evaluate_every", evaluate_every)
    check_positive("learning_rate", learning_rate)
    if clip is not None:
        check_positive("clip", clip)
    if patience is not None:
        check_size("patience", patience)
        if evaluate is None:
            raise ValueError("patience needs an evaluate function, whose first figure it watches")
    steps = optimizer(model.parameters(), lr=learning_rate)
    settings = {"n_steps": n_steps, "learning_rate": learning_rate, "warmup": warmup, "decay": decay, "clip": clip}
    settings |= {"optimizer": optimizer.__name__, "seed": seed, "evaluate_every": evaluate_every, "patience": patience}
    path = None if checkpoint is None else Path(checkpoint)
    history = load_checkpoint(path, model, steps, run=settings) if path is not None and path.exists() else []
    mode, device = model.training, next(model.parameters()).device
    with (
        joined_processes(device),
        torch.random.fork_rng(),
        interruptible() as stop,
        progress_bar(n_steps, progress) as bar,
    ):
        bar.update(len(history))
        while len(history) < n_steps and not _stalled(history, patience):
            step = len(history)
            rate = learning_rate * learning_rate_factor(step, n_steps, warmup=warmup, decay=decay)
            try:
                row = take_step(model, batches, loss, steps, rate=rate, clip=clip, seed=1_000_003 * seed + step)
            except FloatingPointError as error:
                raise FloatingPointError(f"stopped at step {step}: {error}") from None
            due = evaluate is not None and ((step + 1) % evaluate_every == 0 or step + 1 == n_steps)
            figures = evaluated(model, evaluate) if due else {}
            history.append({"step": step, "learning_rate": rate, **row, "figures": figures})
            ended = step + 1 == n_steps or _stalled(history, patience)
            if path is not None and rank() == 0 and (ended or stop.is_set() or (step + 1) % evaluate_every == 0):
                save_checkpoint(path, model, steps, run=settings, history=history)
            if stop.is_set() and not ended:
                kept = f"; the same call goes on from {path}" if path is not None else ""
                raise KeyboardInterrupt(f"stopped after step {step}{kept}")
            bar.set_postfix(loss=f"{row['loss']:.3f}", refresh=False)
            bar.update()
    model.train(mode)
    return pd.DataFrame([{**row, **row["figures"]} for row in history]).drop(columns="figures")


def _stalled(history: list[dict[str, float]], patience: int | None) -> bool:
    """Whether the first figure of `evaluate` was best more than `patience` evaluations ago."""
    figures = [next(iter(row["figures"].values())) for row in history if row["figures"]]
    return patience is not None and len(figures) > patience and min(figures[-patience:]) >= min(figures[:-patience])
