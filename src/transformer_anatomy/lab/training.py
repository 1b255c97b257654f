"""Train a small model: a plain loop that can be read, stopped, continued, and repeated to the last digit."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from transformer_anatomy.lab.checkpoint import load_checkpoint, save_checkpoint
from transformer_anatomy.lab.history import History
from transformer_anatomy.lab.parallel import any_process, join_processes, rank, share_start
from transformer_anatomy.lab.progress import interruptible, progress_bar
from transformer_anatomy.lab.randomness import random_state_kept
from transformer_anatomy.lab.schedule import learning_rate_factor
from transformer_anatomy.lab.step import Batches, Evaluate, Loss, evaluated, modes_kept, take_step
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

        def batches(generator):
            return text[torch.randint(len(text), (32,), generator=generator)]

        def loss(model, batch):
            return token_loss(model(batch[:, :-1]), batch[:, 1:])

        history = fit(model, batches, loss, n_steps=1000, warmup=100)

    | argument | what it decides |
    |---|---|
    | `batches` | takes a `torch.Generator`; a batch: tensors, samples first, alone or in tuples, dicts, dataclasses |
    | `loss` | takes the model and a batch, on the model's device; a scalar tensor, the mean over the samples |
    | `n_steps`, `seed` | how long, and what random numbers: step `i` draws from `seed` and `i` alone |
    | `learning_rate`, `warmup`, `decay` | the highest rate; steps until it; then "cosine", "linear" or "none" |
    | `clip` | the largest gradient norm that a step may use; None: any |
    | `optimizer` | takes parameters and `lr`, as `partial(torch.optim.SGD, momentum=0.9)` |
    | `evaluate` | takes the model, in evaluation mode; figures by name, as `{"error": 0.1}` |
    | `evaluate_every` | after how many steps; the last one is always evaluated |
    | `patience` | stop when the first figure was not lower in so many evaluations |
    | `checkpoint` | a safetensors file, written as often, and at Ctrl-C; one that exists is continued |
    | `progress` | whether to show a bar; by default where a person is watching |

    The same call gives the same numbers on the same machine, whether it runs through or is stopped and called again.
    Under `torchrun` each process computes its share of every batch, on the device where it has put its model: the same
    run, apart from the last digits and from where dropout falls. Afterwards the mode of the model and PyTorch's random
    state are as they were.

    Raises `FloatingPointError` with step and module when a loss or a gradient is not finite, `ValueError` for settings
    that make no sense and a checkpoint of another run, `KeyboardInterrupt` after the step during which Ctrl-C came.
    """
    _check(model, batches, loss, evaluate)
    check_size("n_steps", n_steps)
    check_size("evaluate_every", evaluate_every)
    check_size("seed", seed, at_least=0)
    check_positive("learning_rate", learning_rate)
    if clip is not None:
        check_positive("clip", clip)
    if patience is not None:
        check_size("patience", patience)
        if evaluate is None:
            raise ValueError("patience needs an evaluate function, whose first figure it watches")
    factors = [learning_rate_factor(step, n_steps, warmup=warmup, decay=decay) for step in range(n_steps)]
    stepper = optimizer([p for p in model.parameters() if p.requires_grad], lr=learning_rate)
    highest = [group["lr"] for group in stepper.param_groups]
    settings = {"n_steps": n_steps, "learning_rate": learning_rate, "warmup": warmup, "decay": decay, "clip": clip}
    settings |= {"seed": seed, "evaluate_every": evaluate_every, "patience": patience}
    path, device = None if checkpoint is None else Path(checkpoint), next(model.parameters()).device
    join_processes(device)
    history = load_checkpoint(path, model, stepper, settings) if path is not None and path.exists() else History()
    share_start(model, len(history))
    with (
        random_state_kept(device),
        modes_kept(model),
        interruptible() as stop,
        progress_bar(n_steps, progress if rank() == 0 else False, initial=len(history)) as bar,
    ):
        while len(history) < n_steps and not history.stalled(patience):
            step = len(history)
            for group, rate in zip(stepper.param_groups, highest, strict=True):
                group["lr"] = rate * factors[step]
            value, norm = take_step(model, batches, loss, stepper, step=step, seed=seed, clip=clip)
            history.add(learning_rate * factors[step], value, norm)
            due = (step + 1) % evaluate_every == 0 or step + 1 == n_steps
            if due and evaluate is not None:
                history.evaluate(evaluated(model, evaluate))
            stopped = any_process(stop.is_set())
            if path is not None and (due or stopped) and rank() == 0:
                save_checkpoint(path, model, stepper, history, settings)
            if stopped:
                again = "" if path is None else f"; the same call goes on from {path}"
                raise KeyboardInterrupt(f"stopped after step {step}{again}")
            bar.set_postfix(loss=f"{value:.3f}", refresh=False)
            bar.update()
    return history.frame()


def _check(model: nn.Module, batches: object, loss: object, evaluate: object) -> None:
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("model has no parameter that requires a gradient: there is nothing to train")
    functions = {"batches": batches, "loss": loss} | ({} if evaluate is None else {"evaluate": evaluate})
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be a function, got {type(function).__name__}")
