import json
import os
import random
import threading
import time
from functools import partial
from multiprocessing import current_process

import joblib
import numpy as np
import pandas as pd
import pytest
import torch

from tests.lab import reversal
from transformer_anatomy import sweep
from transformer_anatomy.lab.code import code_digest

pytestmark = pytest.mark.usefixtures("unchecked")


def train(n_layers, seed):
    """A run as a reader writes one: model, training, a number."""
    model = reversal.model(seed, n_layers=n_layers)
    history = reversal.train(model, seed=seed, n_steps=3)
    return {"loss": history.loss.iloc[-1], "error": torch.tensor(history.validation.iloc[-1]), "drawn": torch.rand(1)}


def draw(**setting):
    return {"drawn": torch.rand(()).item(), "threads": torch.get_num_threads()}


GRID = {"n_layers": [1, 2], "seed": range(2)}


def test_the_table_has_a_row_for_each_combination_in_the_order_of_the_settings():
    table = sweep(lambda b, a: {"sum": a + b, "word": f"{a}{b}"}, {"b": [10, 20], "a": [3, 1]})
    assert list(table) == ["b", "a", "sum", "word"]
    assert table["sum"].tolist() == [13, 11, 23, 21]
    assert table.word.tolist() == ["310", "110", "320", "120"]
    assert table.index.tolist() == [0, 1, 2, 3]


def test_two_workers_give_the_same_table_as_one_and_so_does_the_folder_that_they_filled(tmp_path, capfd):
    serial = sweep(train, GRID)
    assert serial.loss.nunique() == 4
    for jobs in (2, 1):
        table = sweep(train, GRID, n_jobs=jobs, folder=tmp_path)
        pd.testing.assert_frame_equal(table, serial, check_exact=True)
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_worker_comes_with_the_settings_of_its_run():
    with pytest.raises(ZeroDivisionError) as caught:
        sweep(lambda a: {"x": 1 / a}, {"a": [1, 0]}, n_jobs=2)
    assert caught.value.__notes__ == ["in the run with a = 0"]


def test_a_run_that_cannot_be_sent_to_a_worker_is_refused():
    held = (number for number in range(3))
    with pytest.raises(Exception, match=r"[Pp]ickle"):
        sweep(lambda a: {"x": next(held)}, {"a": [1, 2]}, n_jobs=2)


def where(a):
    # Slow enough that a worker does not take all runs before the other is there.
    time.sleep(0.05)
    return {"process": os.getpid(), "thread": threading.current_thread().name, "kind": type(current_process()).__name__}


def test_the_backend_that_the_reader_names_is_used():
    made = {}
    for backend in ("threading", "loky", "multiprocessing"):
        with joblib.parallel_config(backend, n_jobs=2):
            made[backend] = sweep(where, {"a": [1, 2, 3, 4]})
    here = os.getpid()
    assert set(made["threading"].process) == {here} and threading.current_thread().name not in set(
        made["threading"].thread
    )
    for backend, kind in (("loky", "LokyProcess"), ("multiprocessing", "ForkProcess")):
        assert here not in set(made[backend].process)
        assert set(made[backend].kind) == {kind}
    assert not set(made["loky"].process) & set(made["multiprocessing"].process)


def test_a_backend_that_hands_over_all_results_at_the_end_is_not_asked_for_them_one_by_one():
    with joblib.parallel_config("multiprocessing", n_jobs=1):
        assert sweep(numbers, {"a": [1, 2]}).whole.tolist() == [1, 2]


def everything_drawn(a):
    return {"torch": torch.rand(()).item(), "numpy": np.random.rand(), "python": random.random()}


@pytest.mark.parametrize("backend", ["sequential", "loky", "multiprocessing"])
def test_every_run_begins_with_the_same_random_states_wherever_it_runs(backend):
    random.seed(5)
    np.random.seed(5)
    expected = sweep(everything_drawn, {"a": [1]})
    with joblib.parallel_config(backend, n_jobs=2):
        table = sweep(everything_drawn, {"a": [1, 2, 3]})
    assert {name: table[name].unique().tolist() for name in ("torch", "numpy", "python")} == {
        name: expected[name].tolist() for name in ("torch", "numpy", "python")
    }
    after = random.random(), np.random.rand()
    random.seed(5)
    np.random.seed(5)
    assert after == (random.random(), np.random.rand())


@pytest.mark.parametrize("backend", ["sequential", "threading"])
def test_a_run_has_one_thread_and_a_random_state_of_its_own_and_then_both_are_as_they_were(backend):
    torch.set_num_threads(2)
    torch.manual_seed(5)
    expected = torch.rand(()).item()
    torch.manual_seed(5)
    try:
        with joblib.parallel_config(backend, n_jobs=2):
            table = sweep(draw, {"a": [1, 2]})
        assert table.threads.tolist() == [1, 1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    if backend == "sequential":  # threads share PyTorch's random state, and sweep says so
        assert table.drawn.nunique() == 1
        assert torch.rand(()).item() == expected


class TestFolder:
    def test_an_interrupted_sweep_makes_only_the_missing_runs(self, tmp_path):
        def run(a):
            with log.open("a") as lines:
                lines.write(f"{a} ")
            if log.read_text() == "1 2 3 ":
                raise KeyboardInterrupt
            return {"square": a * a}

        log = tmp_path / "log"
        with pytest.raises(KeyboardInterrupt):
            sweep(run, {"a": [1, 2, 3, 4]}, folder=tmp_path / "runs")
        table = sweep(run, {"a": [1, 2, 3, 4]}, folder=str(tmp_path / "runs"))
        assert log.read_text() == "1 2 3 3 4 "
        assert table.square.tolist() == [1, 4, 9, 16]
        wider = sweep(run, {"a": [5, 4, 3]}, folder=tmp_path / "runs")
        assert log.read_text() == "1 2 3 3 4 5 "
        assert wider.square.tolist() == [25, 16, 9]

    def test_a_result_is_json_with_its_settings(self, tmp_path):
        sweep(numbers, {"a": np.arange(1, 2)}, folder=tmp_path)
        (file,) = tmp_path.iterdir()
        content = json.loads(file.read_text())
        assert content["setting"] == {"a": 1}
        assert content["run"] == {"name": "numbers", "code": code_digest(numbers)}
        assert content["result"] == {"third": 1 / 3, "whole": 1, "yes": True, "word": "w", "nothing": None}

    def test_settings_that_look_alike_do_not_share_a_file(self, tmp_path):
        values = ["a/b", "a_b", "1", 1.5, "torch.float32", torch.float32, (1, 2), None, "None"]
        for folder in (tmp_path, tmp_path):
            table = sweep(lambda value: {"kind": f"{type(value).__name__} {value}"}, {"value": values}, folder=folder)
            assert table.kind.tolist() == [f"{type(value).__name__} {value}" for value in values]
        assert len(list(tmp_path.iterdir())) == len(values)

    def test_a_file_of_something_else_is_refused(self, tmp_path):
        sweep(numbers, {"a": [1]}, folder=tmp_path)
        (file,) = tmp_path.iterdir()
        run = json.dumps(json.loads(file.read_text())["run"])
        for content, holds in (
            ('{"setting": {"a": 1}, "res', "no result of a sweep"),
            ("[]", "no result of a sweep"),
            ('{"setting": {"a": 1}, "result": {}}', "no result of a sweep"),
            (f'{{"run": {run}, "setting": {{"a": 2}}, "result": {{}}}}', r"the result of other settings, \{'a': 2\}"),
            (
                '{"run": {"name": "f"}, "setting": {"a": 1}, "result": {}}',
                r"the result of another function, \{'name': 'f'\}",
            ),
        ):
            file.write_text(content)
            with pytest.raises(ValueError, match=rf"\.json holds {holds}.*; delete it or name another folder"):
                sweep(numbers, {"a": [1]}, folder=tmp_path)

    def test_another_function_has_results_of_its_own(self, tmp_path):
        def maker(factor):
            def run(a):
                return {"x": factor * a}

            return run

        runs = [*map(maker, (2, 3)), partial(maker(2), a=0), lambda a: {"x": a}, lambda a: {"x": a + 1}]
        runs[2] = partial(lambda a, b: {"x": a + b}, b=10)
        for _ in range(2):
            made = [sweep(run, {"a": [5]}, folder=tmp_path).x.item() for run in runs]
            assert made == [10, 15, 15, 5, 6]
        assert len(list(tmp_path.iterdir())) == 5

    def test_a_version_stands_for_the_code(self, tmp_path):
        def maker(factor):
            return lambda a: {"x": factor * a}

        def x(factor, version):
            return sweep(maker(factor), {"a": [5]}, folder=tmp_path, version=version).x.item()

        assert [x(2, "one"), x(3, "one"), x(3, "two"), x(4, None)] == [10, 10, 15, 20]
        with pytest.raises(TypeError, match="version must be a word, got 1"):
            x(2, 1)

    def test_a_setting_that_reads_otherwise_tomorrow_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"settings that read the same tomorrow, got <function .*by a word"):
            sweep(lambda f: {"x": 1}, {"f": [draw]}, folder=tmp_path)


def numbers(a):
    return {"third": np.float64(1 / 3), "whole": np.int64(a), "yes": np.bool_(True), "word": "w", "nothing": None}
