"""Train a small model: a plain loop that can be read, stopped, continued, and repeated to the last digit."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from transformer_anatomy.lab.checkpoint import load_checkpoint, save_checkpoint
from transformer_anatomy.lab.fit_arguments import (
    check_folder,
    check_functions,
    check_numbers,
    check_optimizer,
    check_patience,
)
from transformer_anatomy.lab.history import History
from transformer_anatomy.lab.identity import name_of, state_of
from transformer_anatomy.lab.modes import modes_kept, start_training
from transformer_anatomy.lab.parallel import any_process, check_agreed, join_processes, rank, share
from transformer_anatomy.lab.progress import interruptible, progress_bar
from transformer_anatomy.lab.randomness import random_state_kept
from transformer_anatomy.lab.same_run import identify
from transformer_anatomy.lab.schedule import learning_rate_factor
from transformer_anatomy.lab.step import (
    Batches,
    Evaluate,
    Loss,
    evaluated,
    first_loss,
    take_step,
)


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
    watch: str | None = None,
    better: str | None = None,
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
    | `evaluate_every` | after how many steps; the last one is always evaluated; a figure `loss` is `validation_loss` |
    | `patience` | stop when a figure was not better in so many evaluations |
    | `watch`, `better` | which figure, by default the first; and "lower", by default, or "higher" |
    | `checkpoint` | a safetensors file, written as often, and at Ctrl-C; one that exists is continued |
    | `progress` | whether to show a bar; by default where a person is watching |

    The same call gives the same numbers on the same machine, whether it runs through or is stopped and called again,
    if `batches` depends on nothing but its generator, or on the random numbers of PyTorch, NumPy and Python, which are
    seeded for every step: it may not go through a list or a `DataLoader` batch by batch, but take the first batch of
    one that is shuffled anew, `next(iter(DataLoader(data, 32, shuffle=True, generator=generator)))`. With a
    `checkpoint` that is tried out, on the first batch; and a checkpoint is only continued by a run with the same
    settings, start, first batch, first loss and names of functions.

    A part of a model in training that was set to evaluation before stays so, as a frozen norm; a model in evaluation is
    set to training as a whole. Afterwards every mode is as it was, as are the random states.

    Under `torchrun` each process computes its share of every batch, on the device where it has put its model: the same
    run, apart from the last digits, from where dropout falls and from norms over the batch, which see the share alone;
    buffers are those of the first process. Every tensor with a row for each sample is cut; mark one that only happens
    to be as long with `lab.batch.Whole`. Tried with two processes on the CPU, untried on CUDA.

    Raises `FloatingPointError` with step and module when a loss or a gradient is not finite, `ValueError` for settings
    that make no sense and a checkpoint of another run, `KeyboardInterrupt` after the step during which Ctrl-C came.
    """
    path = None if checkpoint is None else Path(checkpoint)
    check_functions(model, batches, loss, evaluate, optimizer)
    check_numbers(n_steps=n_steps, evaluate_every=evaluate_every, seed=seed, learning_rate=learning_rate, clip=clip)
    check_patience(patience, watch, better, evaluate)
    factors = [learning_rate_factor(step, n_steps, warmup=warmup, decay=decay) for step in range(n_steps)]
    stepper = optimizer([p for p in model.parameters() if p.requires_grad], lr=learning_rate)
    check_optimizer(stepper)
    highest = [group["lr"] for group in stepper.param_groups]
    settings = {"n_steps": n_steps, "learning_rate": learning_rate, "warmup": warmup, "decay": decay, "clip": clip}
    settings |= {"seed": seed, "evaluate_every": evaluate_every, "patience": patience, "watch": watch, "better": better}
    settings |= {"loss": name_of(loss), "evaluate": name_of(evaluate)}
    device = next(model.parameters()).device
    join_processes(device)
    share(state_of(model).values())
    with random_state_kept(device), modes_kept(model):
        start_training(model)
        history, identity = History(), {}
        if path is not None:
            check_folder(path)
            identity = identify(model, batches, seed=seed)
            there = path.exists()
            check_agreed(there, "one" if there else "none")
            if there:
                again = partial(first_loss, model, batches, loss, seed=seed)
                history, identity = load_checkpoint(path, model, stepper, settings, identity, again)
            check_agreed(len(history), f"{len(history)} steps")
        shown = progress if rank() == 0 else False
        with interruptible() as stop, progress_bar(n_steps, shown, initial=len(history)) as bar:
            while len(history) < n_steps and not history.stalled(patience, watch, better):
                step = len(history)
                for group, rate in zip(stepper.param_groups, highest, strict=True):
                    group["lr"] = rate * factors[step]
                value, norm = take_step(model, batches, loss, stepper, step=step, seed=seed, clip=clip)
                history.add(learning_rate * factors[step], value, norm)
                due = (step + 1) % evaluate_every == 0 or step + 1 == n_steps
                if due and evaluate is not None:
                    history.evaluate(evaluated(model, evaluate))
                    history.stalled(patience, watch, better)  # an error before anything is written
                stopped = any_process(stop.is_set())
                if path is not None and (due or stopped) and rank() == 0:
                    save_checkpoint(path, model, stepper, history, settings, identity)
                if stopped:
                    again = "" if path is None else f"; the same call goes on from {path}"
                    raise KeyboardInterrupt(f"stopped after step {step}{again}")
                bar.set_postfix(loss=f"{value:.3f}", refresh=False)
                bar.update()
    return history.frame()
