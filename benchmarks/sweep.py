"""How much sooner a sweep is done with two workers than with one, and that its numbers are the same.

    python -m benchmarks.sweep                                    # two workers, each run of 200 steps
    python -m benchmarks.sweep --workers 4 --steps 1000

A worker starts once, in seconds; a run has to be long beside that for a second worker to pay.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import joblib
import pandas as pd
import torch

from benchmarks.record import record
from transformer_anatomy import Transformer, TransformerConfig, fit, sweep, token_loss

START, N_SYMBOLS, LENGTH, BATCH = 0, 15, 8, 64


def reversing(generator):
    source = torch.randint(1, 1 + N_SYMBOLS, (BATCH, LENGTH), generator=generator)
    return source, torch.cat([torch.full((BATCH, 1), START), source.flip(1)], dim=1)


def loss(model, batch):
    source, target = batch
    return token_loss(model(source, target[:, :-1]), target[:, 1:])


def run(n_layers, seed, n_steps):
    """A small Transformer learns to reverse; its last loss."""
    torch.manual_seed(seed)
    sizes = {"d_model": 32, "n_heads": 2, "d_feedforward": 64, "max_length": LENGTH}
    model = Transformer(TransformerConfig(1 + N_SYMBOLS, n_layers=n_layers, norm="pre", **sizes))
    history = fit(model, reversing, loss, n_steps=n_steps, seed=seed, learning_rate=3e-3, warmup=n_steps // 10)
    return {"loss": history.loss.iloc[-10:].mean()}


def measure(settings: dict, n_jobs: int) -> tuple[pd.DataFrame, float]:
    """The table, and the seconds until it was there, with the start of the workers."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        table = sweep(run, settings, n_jobs=n_jobs, folder=Path(folder))
        return table, time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2, help="processes to compare with one")
    parser.add_argument("--steps", type=int, default=200, help="steps of each run")
    parser.add_argument("--seeds", type=int, default=4, help="runs of each of two depths")
    parser.add_argument("--record", action="store_true", help="keep the figure in measured.json")
    arguments = parser.parse_args()
    settings = {"n_layers": [1, 2], "seed": range(arguments.seeds), "n_steps": [arguments.steps]}
    measure({**settings, "seed": [0], "n_steps": [1]}, 1)  # what PyTorch loads when it first trains is no part of it
    serial, alone = measure(settings, 1)
    parallel, together = measure(settings, arguments.workers)
    same = parallel.equals(serial)
    print(f"{len(serial)} runs of {arguments.steps} steps on {joblib.cpu_count()} cores")
    print(f"{'seconds':>8}  workers")
    print(f"{alone:8.1f}  1")
    print(f"{together:8.1f}  {arguments.workers}")
    verdict = "the same numbers" if same else "OTHER NUMBERS"
    print(f"{alone / together:.2f} times as fast with {arguments.workers} workers, {verdict}")
    if arguments.record:
        name = f"A sweep of {len(serial)} short runs with {arguments.workers} workers"
        record(name, together / alone, "of the time with one", at_most=None, command="make benchmark-instruments")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
