"""Two processes with their shares of every batch are one run."""

import atexit
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch
import torch.distributed as dist

from tests.lab import reversal
from transformer_anatomy.lab import parallel
from transformer_anatomy.lab.batch import Whole
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
    assert files == ["0.json", "1.json", "normed.safetensors", "run.safetensors"]


def test_a_checkpoint_that_only_one_can_read_is_refused(processes):
    (first, second), _ = processes
    assert first["elsewhere"] == "checkpoint must lie where every process can read it; process 0 found one"
    assert second["elsewhere"] == "checkpoint must lie where every process can read it; process 1 found none"


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


def test_what_is_marked_as_whole_is_not_cut_even_if_it_has_as_many_rows_as_there_are_samples(processes):
    for seen, rows in zip((seen["whole"] for seen in processes[0]), ([0, 1], [2, 3]), strict=True):
        eye = torch.eye(4)
        assert seen == {"first": eye.tolist(), "a": rows, "cut": eye[rows].tolist()}


def test_the_second_of_two_has_the_second_half_and_all_of_what_is_whole(monkeypatch):
    monkeypatch.setattr(parallel, "n_processes", lambda: 2)
    monkeypatch.setattr(parallel, "rank", lambda: 1)
    ids, mask = own_share((torch.arange(4), Whole(torch.eye(4))))
    assert ids.tolist() == [2, 3] and torch.equal(mask, torch.eye(4))


def test_the_statistics_of_a_batch_norm_are_those_of_the_first_process_and_survive_a_stop(processes):
    first, second = processes[0]
    assert first["buffers"] == second["buffers"]
    assert first["buffers"]["1.num_batches_tracked"] == 6
    assert first["normed"] and second["normed"]


class TestCuda:
    """What is asked of CUDA, without it."""

    @pytest.fixture
    def asked(self, monkeypatch):
        for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
            monkeypatch.setenv(name, value)
        asked = []
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
        monkeypatch.setattr(torch.cuda, "set_device", lambda device: asked.append(("current", device)))
        monkeypatch.setattr(dist, "init_process_group", lambda **options: asked.append(("group", options)))
        monkeypatch.setattr(atexit, "register", lambda end: None)
        return asked

    def test_the_gpu_of_the_model_becomes_the_current_one_before_the_processes_join(self, asked, monkeypatch):
        monkeypatch.setenv("LOCAL_RANK", "1")
        device = torch.device("cuda:1")
        join_processes(device)
        assert asked == [("current", device), ("group", {"backend": "nccl", "device_id": device})]

    def test_a_second_process_on_the_first_gpu_is_told_what_to_call(self, asked, monkeypatch):
        monkeypatch.setenv("LOCAL_RANK", "1")
        with pytest.raises(ValueError, match=r"got cuda:0 in process 1 .* torch.cuda.set_device\(int\(os.environ"):
            join_processes(torch.device("cuda:0"))
        assert asked == []

    def test_each_may_see_a_single_gpu_of_its_own(self, asked, monkeypatch):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setenv("LOCAL_RANK", "1")
        join_processes(torch.device("cuda:0"))
        assert asked[0] == ("current", torch.device("cuda:0"))

    def test_on_the_cpu_nothing_is_asked_of_it(self, asked):
        join_processes(torch.device("cpu"))
        assert asked == [("group", {"backend": "gloo"})]


def test_one_process_alone_has_everything(monkeypatch):
    monkeypatch.setenv("RANK", "3")  # other programs set it, too
    join_processes(torch.device("cpu"))
    assert (rank(), n_processes()) == (0, 1)
    batch = torch.arange(7)
    assert own_share(batch) is batch
    assert own_share((batch, Whole(batch))) == (batch, batch)
    assert average(batch) is batch
