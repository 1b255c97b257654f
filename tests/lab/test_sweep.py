import json

import joblib
import numpy as np
import pandas as pd
import pytest
import torch

from tests.lab import reversal
from transformer_anatomy import sweep

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


def test_the_backend_that_the_reader_names_is_used():
    def where(a):
        return {"process": __import__("os").getpid(), "thread": __import__("threading").current_thread().name}

    with joblib.parallel_config("threading", n_jobs=2):
        threads = sweep(where, {"a": [1, 2, 3, 4]})
    alone = sweep(where, {"a": [1]})
    assert set(threads.process) == set(alone.process)
    assert not set(threads.thread) & set(alone.thread)


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
            made.append(a)
            if a == 3 and len(made) == 3:
                raise KeyboardInterrupt
            return {"square": a * a}

        made = []
        with pytest.raises(KeyboardInterrupt):
            sweep(run, {"a": [1, 2, 3, 4]}, folder=tmp_path / "runs")
        table = sweep(run, {"a": [1, 2, 3, 4]}, folder=str(tmp_path / "runs"))
        assert made == [1, 2, 3, 3, 4]
        assert table.square.tolist() == [1, 4, 9, 16]
        wider = sweep(run, {"a": [5, 4, 3]}, folder=tmp_path / "runs")
        assert made == [1, 2, 3, 3, 4, 5]
        assert wider.square.tolist() == [25, 16, 9]

    def test_a_result_is_json_with_its_settings(self, tmp_path):
        sweep(numbers, {"a": np.arange(1, 2)}, folder=tmp_path)
        (file,) = tmp_path.iterdir()
        content = json.loads(file.read_text())
        assert content["setting"] == {"a": 1}
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
        for content in ('{"setting": {"a": 1}, "res', "[]", '{"setting": {"a": 2}, "result": {}}'):
            file.write_text(content)
            with pytest.raises(ValueError, match=r"\.json holds .*; delete it or name another folder"):
                sweep(numbers, {"a": [1]}, folder=tmp_path)

    def test_a_setting_that_reads_otherwise_tomorrow_is_refused(self, tmp_path):
        with pytest.raises(ValueError, match=r"settings that read the same tomorrow, got <function .*by a word"):
            sweep(lambda f: {"x": 1}, {"f": [draw]}, folder=tmp_path)


def numbers(a):
    return {"third": np.float64(1 / 3), "whole": np.int64(a), "yes": np.bool_(True), "word": "w", "nothing": None}
