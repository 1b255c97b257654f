"""Whether a checkpoint is of this run: the same settings, start, data and loss."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from transformer_anatomy.lab.batch import tensors_of
from transformer_anatomy.lab.identity import Fingerprint, fingerprint, same, state_of
from transformer_anatomy.lab.step import Batches, draw_batch

Identity = dict[str, Fingerprint]  # "start": the weights before the first step; "data": the first batch
AWAY = "delete it or name another"


def identify(model: nn.Module, batches: Batches, *, seed: int) -> Identity:
    """Where a run begins. Raises `ValueError` when the same random numbers do not give the first batch again."""
    first, again = (fingerprint(tensors_of(draw_batch(batches, step=0, seed=seed))) for _ in range(2))
    if first != again:
        raise ValueError(
            "batches must give the same batch again for a generator in the same state, or a stopped run could not be "
            "continued from a checkpoint; draw from the generator what to take, as "
            "data[torch.randint(len(data), (32,), generator=generator)]"
        )
    return {"start": fingerprint(state_of(model).values()), "data": first}


def described(settings: dict[str, object], model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, object]:
    """What must not change in the middle of a run, as it reads in a file."""
    known = {**settings, "optimizer": type(optimizer).__name__}
    for index, group in enumerate(optimizer.param_groups):
        of = f" of group {index}" if len(optimizer.param_groups) > 1 else ""
        known |= {f"{name}{of}": value for name, value in group.items() if name not in ("params", "lr")}
    known["frozen"] = [name for name, p in model.named_parameters() if not p.requires_grad]
    return json.loads(json.dumps(known, default=repr))


def check_settings(path: Path, there: dict[str, object], here: dict[str, object]) -> None:
    """Raise `ValueError` that names each setting that differs."""
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if names:
        differences = ", ".join(f"{name} = {there.get(name)!r} there, {here.get(name)!r} here" for name in names)
        raise ValueError(f"checkpoint {path} is of another run: {differences}; {AWAY}")


def check_beginning(
    path: Path,
    there: Identity,
    here: Identity,
    stands: Fingerprint,
    *,
    first_losses: tuple[float, Callable[[], float]],
) -> None:
    """Raise `ValueError` that says what differs between the run `there` in the file and the one `here`.

    The model may have the weights with which the run began, and then the first loss is computed again, or those that
    the file `stands` at, as after a stop in the same session.
    """
    if not same(there["data"], here["data"]):
        raise ValueError(f"checkpoint {path} is of a run on other data: its first batch differs; {AWAY}")
    if same(there["start"], here["start"]):
        before, first_loss = first_losses
        again = first_loss()
        if not math.isclose(before, again, rel_tol=1e-3, abs_tol=1e-6):
            raise ValueError(
                f"checkpoint {path} is of a run with another loss, or with a model that computes otherwise: "
                f"its first loss was {before:.6g}, here it is {again:.6g}; {AWAY}"
            )
    elif not same(stands, here["start"]):
        raise ValueError(
            f"checkpoint {path} is of a run that began with other weights; seed PyTorch as then before the model is "
            f"made, or go on from those in the file after load_weights(path, model); else {AWAY}"
        )
