"""What each of two processes of one run does in the tests; prints what it saw as JSON."""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import torch
from torch import nn

from tests.lab import reversal
from transformer_anatomy import fit
from transformer_anatomy.lab.batch import Whole, map_tensors
from transformer_anatomy.lab.parallel import own_share

folder, here = Path(sys.argv[1]), int(os.environ["RANK"])
settings = {"n_steps": 6, "evaluate_every": 2, "clip": 0.1}
calls = iter(range(1000))


def model(seed=0, **choices):
    return reversal.model(seed, dropout=0.0, **{"dtype": torch.float64, **choices})


def interrupting(generator):
    if next(calls) == 2 + 2 and here == 1:  # the first batch is tried out twice
        os.kill(os.getpid(), signal.SIGINT)
    return reversal.batches(generator)


def breaking(generator):
    return reversal.batches(generator), torch.tensor([1.0] * 4 + [torch.nan] * 4)


def message(error, **choices):
    try:
        reversal.train(model(), **settings, **choices)
    except error as caught:
        return str(caught)


def everything(model):
    return [*model.parameters(), *model.buffers()]


seen = {}
seen["single"] = reversal.train(model(dtype=torch.float32), **settings).to_dict("list")
run = model(seed=here)  # every process starts from the weights of the first
seen["history"] = reversal.train(run, **settings).to_dict("list")
seen["weights"] = {name: tensor.tolist() for name, tensor in run.state_dict().items()}
seen["stopped"] = message(KeyboardInterrupt, batches=interrupting, checkpoint=folder / "run.safetensors")
again = model(seed=here)  # that of the first process is the start of the run again
reversal.train(again, **settings, checkpoint=folder / "run.safetensors")
seen["continued"] = all(torch.equal(p, q) for p, q in zip(run.parameters(), again.parameters(), strict=True))
path = folder / ("nowhere.safetensors" if here else "run.safetensors")
seen["elsewhere"] = message(ValueError, checkpoint=path)
seen["uneven"] = message(ValueError, batches=lambda generator: reversal.batches(generator, 7))
seen["nan"] = message(
    FloatingPointError,
    batches=breaking,
    loss=lambda model, batch: reversal.loss(model, batch[0]) * batch[1].mean(),
)
seen["error"] = message(ZeroDivisionError, loss=lambda model, batch: 1 / 0)
batch = {"a": torch.arange(4), "mask": torch.ones(3, 3), "word": "x", "n": torch.tensor(5)}
seen["share"] = map_tensors(torch.Tensor.tolist, own_share(batch))
square = {"first": Whole(torch.eye(4)), "a": torch.arange(4), "cut": torch.eye(4)}
seen["whole"] = map_tensors(torch.Tensor.tolist, own_share(square))


def normed():
    torch.manual_seed(here)
    return nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


def train_normed(model, checkpoint=None, stop=None):
    def numbers(generator):
        if next(calls) == stop:
            os.kill(os.getpid(), signal.SIGINT)
        return torch.randn(8, 2, generator=generator)

    calls = iter(range(1000))
    fit(model, numbers, lambda model, x: (model(x) - 1).square().mean(), n_steps=6, checkpoint=checkpoint)
    return model


through, stopped = train_normed(normed()), normed()
seen["buffers"] = {name: buffer.tolist() for name, buffer in through.named_buffers()}
with contextlib.suppress(KeyboardInterrupt):
    train_normed(stopped, folder / "normed.safetensors", stop=2 + 3)
train_normed(stopped, folder / "normed.safetensors")
seen["normed"] = all(torch.equal(a, b) for a, b in zip(*map(everything, (through, stopped)), strict=True))
(folder / f"{here}.json").write_text(json.dumps(seen))
