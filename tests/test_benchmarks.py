"""The benchmark's own small functions, and that README tells of every row that the command prints. Nothing is timed."""

import re
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import model
from benchmarks.contenders import forward, forward_and_backward, minilm, recording

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_contenders_take_turns_and_swap_who_goes_first(monkeypatch):
    clock, turns = iter(range(1000)), []
    monkeypatch.setattr(model.time, "process_time", lambda: next(clock))
    medians = model.alternate((lambda: turns.append("a"), lambda: turns.append("b")), seconds=2 * model.FEWEST_ROUNDS)
    assert "".join(turns) == "ab" + ("abba" * model.FEWEST_ROUNDS)[: 2 * model.FEWEST_ROUNDS]
    assert medians == (1, 1, 1)


def test_medians_belong_to_their_contender(monkeypatch):
    now = [0]
    monkeypatch.setattr(model.time, "process_time", lambda: now[0])

    def takes(seconds):
        return lambda: now.__setitem__(0, now[0] + seconds)

    assert model.alternate((takes(3), takes(2)), seconds=0) == (3, 2, 1.5)
    turns = []
    assert model.alternate((lambda: turns.append(0), takes(2)), seconds=100) == (0, 2, 0)
    assert len(turns) == 1 + 50  # one to warm up


def test_a_ratio_at_its_target_is_ok_and_one_above_is_missed():
    assert [model.verdict(ratio, 1.05) for ratio in (0.9, 1.05, 1.06)] == ["ok", "ok", "missed"]
    assert model.verdict(2.0, None) == ""


@pytest.mark.parametrize("default_allocator", [True, False])
def test_the_command_starts_anew_once(monkeypatch, default_allocator):
    started = []
    monkeypatch.setattr(model.os, "environ", {"HOME": "/", "OMP_NUM_THREADS": "2", "MALLOC_MMAP_MAX_": "9"})
    monkeypatch.setattr(model.os, "execve", lambda path, arguments, environment: started.append(environment))
    model.restart(default_allocator)
    (environment,) = started
    assert environment["HOME"] == "/" and environment["OMP_NUM_THREADS"] == "1"
    assert environment.get("MALLOC_MMAP_MAX_") == (None if default_allocator else "0")
    monkeypatch.setattr(model.os, "environ", environment)
    model.restart(default_allocator)
    assert len(started) == 1


def test_a_missed_target_fails_the_command_and_a_missing_contender_does_not(monkeypatch, capsys):
    def absent():
        raise ModuleNotFoundError("no", name="transformer_lens")

    def row(pair, at_most=1.0):
        return model.Row("forward", "another", "(1, 2, 3)", at_most, False, pair)

    monkeypatch.setattr(model, "restart", lambda default_allocator: None)
    monkeypatch.setattr(model, "alternate", lambda pair, seconds: pair)
    monkeypatch.setattr(sys, "argv", ["model"])
    monkeypatch.setattr(
        model, "rows", lambda: [row(lambda: (0.5, 1.0, 0.5)), row(absent), row(lambda: (2.0, 1.0, 2.0), None)]
    )
    assert model.main() == 0
    monkeypatch.setattr(model, "rows", lambda: [row(lambda: (2.0, 1.0, 2.0)), row(absent)])
    assert model.main() == 1
    printed = capsys.readouterr().out
    assert "2000.0   1000.0   2.00     1.00 missed  forward (1, 2, 3), against another" in printed
    assert printed.count(f"not installed  forward (1, 2, 3), against another: {model.INSTALL}") == 2


def test_contenders_are_given_the_same_work():
    size = (2, 3, 8)
    for pair in (forward(size), recording(size)):
        ours, theirs = pair
        assert theirs().shape == size and theirs().requires_grad
        ours()
    for run in forward_and_backward(size):
        run()
    with torch.no_grad():
        ours, theirs = forward(size)
        assert ours().shape == theirs().shape and not ours().requires_grad
        for padded in (False, True):
            ours, theirs = minilm(padded=padded)
            torch.testing.assert_close(ours(), theirs(), atol=1e-4, rtol=0)


def test_readme_tells_of_every_row():
    lines = re.findall(r"^\| (.+) \|$", README, re.MULTILINE)
    _, *told = [[cell.strip() for cell in line.split("|")] for line in lines]
    targets = {(row.what, row.against): row.at_most for row in model.rows()}
    assert [(what, against) for what, against, _, _ in told] == list(targets)
    for what, against, ratios, at_most in told:
        ratios, target = [float(ratio) for ratio in ratios.split(", ")], targets[what, against]
        assert len(ratios) == sum((row.what, row.against) == (what, against) for row in model.rows())
        assert at_most == ("–" if target is None else f"{target:.2f}")
        assert model.verdict(max(ratios), target) != "missed"
