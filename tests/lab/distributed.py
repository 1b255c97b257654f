"""What each of two processes of one run does in the tests; prints what it saw as JSON."""

import json
import os
import signal
import sys
from pathlib import Path

import torch

from tests.lab import reversal
from transformer_anatomy.lab.batch import map_tensors
from transformer_anatomy.lab.parallel import own_share

folder, here = Path(sys.argv[1]), int(os.environ["RANK"])
settings = {"n_steps": 6, "evaluate_every": 2, "clip": 0.1}
calls = iter(range(1000))


def model(seed=0, **choices):
    return reversal.model(seed, dropout=0.0, **{"dtype": torch.float64, **choices})


def interrupting(generator):
    if next(calls) == 2 and here == 1:
        os.kill(os.getpid(), signal.SIGINT)
    return reversal.batches(generator)


def breaking(generator):
    return reversal.batches(generator), torch.tensor([1.0] * 4 + [torch.nan] * 4)


def message(error, **choices):
    try:
        reversal.train(model(), **settings, **choices)
    except error as caught:
        return str(caught)


seen = {}
seen["single"] = reversal.train(model(dtype=torch.float32), **settings).to_dict("list")
run = model(seed=here)  # every process starts from the weights of the first
seen["history"] = reversal.train(run, **settings).to_dict("list")
seen["weights"] = {name: tensor.tolist() for name, tensor in run.state_dict().items()}
seen["stopped"] = message(KeyboardInterrupt, batches=interrupting, checkpoint=folder / "run.safetensors")
again = model(seed=7)
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
(folder / f"{here}.json").write_text(json.dumps(seen))
