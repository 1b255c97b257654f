"""The figures that the status page shows are written by the benchmarks, one beside the other."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import record as module
from benchmarks.record import MEASURED, measured, record
from transformer_anatomy.page import machine as machines

ROOT = Path(__file__).parents[1]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file that the figures go to."""
    file = tmp_path / "measured.json"
    monkeypatch.setattr(module, "MEASURED", file)
    return file


def test_a_figure_is_kept_beside_the_others_and_replaced_by_its_successor(kept):
    record("b", 2.0, "ms", at_most=16, command="make benchmark-figures")
    record("a", 1 / 3, "MB", at_most=None, command="make benchmark-figures")
    record("b", 3.0, "ms", at_most=16, command="make benchmark-figures")
    figures = json.loads(kept.read_text())
    assert list(figures) == ["a", "b"] and measured() == figures
    assert figures["a"] | {"date": "", "machine": "", "versions": {}} == {
        "value": 0.3333, "unit": "MB", "at_most": None, "command": "make benchmark-figures",
        "date": "", "machine": "", "versions": {},
    }  # fmt: skip
    assert figures["b"]["value"] == 3.0
    assert [file.name for file in kept.parent.iterdir()] == ["measured.json"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"value": float("nan")}, "value must be a finite number, got nan"),
        ({"at_most": float("inf")}, "at_most must be a finite number, got inf"),
        ({"name": " "}, "name must not be empty"),
        ({"unit": ""}, "unit must not be empty"),
        ({"command": ""}, "command must not be empty"),
    ],
)
def test_what_is_no_figure_is_refused_and_nothing_is_written(kept, given, words):
    with pytest.raises(ValueError, match=words):
        record(**{"name": "a", "value": 1.0, "unit": "ms", "at_most": 2.0, "command": "make benchmark"} | given)
    assert not kept.exists()


def test_the_kept_figures_name_a_command_of_the_makefile_and_the_machine():
    rules = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert MEASURED == ROOT / "benchmarks" / "measured.json"
    assert measured()
    for name, figure in measured().items():
        assert re.fullmatch(r"make ([a-z-]+)", figure["command"])[1] in rules, name
        assert re.match(r"\d+ cores? of an? \w+", figure["machine"])
        assert set(figure["versions"]) == {"Python", "PyTorch"}


@pytest.mark.parametrize(
    ("told", "name"),
    [
        ("model name\t: Intel(R) Xeon(R) Processor\nmodel name\t: Intel(R) Xeon(R) Processor\n", "Intel Xeon"),
        ("model name : AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("model name : Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", "Intel Core i7-8650U"),
        ("Features : fp asimd", "aarch64 processor"),
    ],
)
def test_a_processor_is_named_without_marks(monkeypatch, told, name):
    monkeypatch.setattr(machines.platform, "system", lambda: "Linux")
    monkeypatch.setattr(machines.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(machines.Path, "read_text", lambda self, encoding: told)
    monkeypatch.setattr(machines.joblib, "cpu_count", lambda: 1)
    assert machines.processor() == name
    article = "a" if name.startswith("X") else "an"
    assert machines.machine() == f"1 core of {article} {name}, Linux on aarch64"


def test_the_machine_is_not_named_by_its_host():
    assert machines.platform.node() not in machines.machine()
