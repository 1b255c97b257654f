"""Two processes with their shares of every batch are one run."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from tests.lab import reversal
from transformer_anatomy.lab.parallel import average, join_processes, n_processes, own_share, rank

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    """What two processes saw, started with the variables that `torchrun` sets."""
    folder = tmp_path_factory.mktemp("processes")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", "-m", "tests.lab.distributed", str(folder)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "cwd": ROOT}
    runs = [subprocess.Popen(command, env={**os.environ, **where, "RANK": str(i)}, **pipes) for i in range(2)]
    try:
        printed = [run.communicate(timeout=100)[0] for run in runs]
    finally:
        for run in runs:
            run.kill()
            run.communicate()
    assert printed == ["", ""]
    return [json.loads((folder / f"{i}.json").read_text()) for i in range(2)], sorted(os.listdir(folder))


def test_they_give_the_numbers_of_one_process_apart_from_the_last_digits(processes, unchecked):
    (first, second), _ = processes
    settings = {"n_steps": 6, "evaluate_every": 2, "clip": 0.1}
    single = reversal.train(reversal.model(dropout=0.0), **settings)
    pd.testing.assert_frame_equal(pd.DataFrame(first["single"]), single, rtol=0, atol=1e-6)
    # Weights are compared in float64: where a gradient is nothing but rounding, Adam makes a step of it.
    model = reversal.model(dropout=0.0, dtype=torch.float64)
    pd.testing.assert_frame_equal(pd.DataFrame(first["history"]), reversal.train(model, **settings), rtol=1e-12)
    for name, tensor in model.state_dict().items():
        torch.testing.assert_close(torch.tensor(first["weights"][name]).double(), tensor, rtol=0, atol=1e-6)
    assert first["single"] != single.to_dict("list")  # or one of them did everything
    assert json.dumps(first["history"]) == json.dumps(second["history"])
    assert first["weights"] == second["weights"]


def test_ctrl_c_at_one_stops_both_after_the_same_step_and_both_go_on_from_one_checkpoint(processes):
    (first, second), files = processes
    assert first["stopped"] == second["stopped"]
    assert first["stopped"].startswith("stopped after step 2; the same call goes on from ")
    assert first["continued"] and second["continued"]
    assert files == ["0.json", "1.json", "run.safetensors"]


def test_a_checkpoint_that_only_one_can_read_is_refused(processes):
    (first, second), _ = processes
    assert first["elsewhere"] == "checkpoint must lie where every process can read it; process 0 found 6 steps"
    assert second["elsewhere"] == "checkpoint must lie where every process can read it; process 1 found 0 steps"


def test_a_batch_that_cannot_be_shared_evenly_is_refused(processes):
    for seen in processes[0]:
        assert seen["uneven"] == "a batch of 7 cannot be shared evenly by 2 processes"


def test_nan_in_the_share_of_one_stops_both(processes):
    first, second = (seen["nan"] for seen in processes[0])
    assert first.startswith("stopped at step 0: the loss is ") and first.endswith("not finite in another process")
    assert second == "stopped at step 0: the loss is nan; the batch holds NaN"


def test_an_error_in_both_passes_through(processes):
    for seen in processes[0]:
        assert seen["error"] == "division by zero"


def test_a_share_is_some_of_the_samples_and_all_of_what_is_not_one_for_each(processes):
    first, second = (seen["share"] for seen in processes[0])
    assert first == {"a": [0, 1], "mask": [[1.0] * 3] * 3, "word": "x", "n": 5}
    assert second == {**first, "a": [2, 3]}


def test_one_process_alone_has_everything(monkeypatch):
    monkeypatch.setenv("RANK", "3")  # other programs set it, too
    join_processes(torch.device("cpu"))
    assert (rank(), n_processes()) == (0, 1)
    batch = torch.arange(7)
    assert own_share(batch) is batch
    assert average(batch) is batch
