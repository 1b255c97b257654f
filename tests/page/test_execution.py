"""Small books of plain notebooks, built by Sphinx with MyST-NB and the execution of this course."""

import os
import re
import signal
import subprocess
import sys
import time

import joblib
import pytest

from tests.page.test_sphinxext import write_notebook
from transformer_anatomy.page.execution import longest_first

CONFIG = """
extensions = ["myst_nb", "transformer_anatomy.page.execution"]
html_theme, nb_execution_mode, nb_execution_raise_on_error = "basic", "cache", True
nb_execution_timeout = 300  # for a busy machine
exclude_patterns = ["_build"]
"""
INDEX = "# A small book\n\n```{toctree}\n:glob:\n*\n```"
# Ends well only while another notebook writes the other file.
MEET = """
import pathlib, time
pathlib.Path("{mine}").touch()
for _ in range(600):
    if pathlib.Path("{other}").exists():
        break
    time.sleep(0.1)
else:
    raise TimeoutError("alone")
"""


def write_book(root, **pages):
    root.mkdir(exist_ok=True)
    (root / "conf.py").write_text(CONFIG)
    (root / "index.md").write_text(INDEX)
    for name, code in pages.items():
        write_notebook(root / f"{name}.ipynb", [f"# {name}", *([cell] for cell in code)])


def command(root):
    return [sys.executable, "-m", "sphinx", "-W", "--keep-going", str(root), str(root / "_build" / "html")]


def build(root, cores=2):
    environment = os.environ | {"LOKY_MAX_CPU_COUNT": str(cores)}
    done = subprocess.run(command(root), env=environment, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def executed(log):
    return sorted(re.findall(r"^(\w+): Executed notebook in", log, re.MULTILINE))


@pytest.mark.skipif(joblib.cpu_count() < 2, reason="one core runs one notebook at a time")
def test_notebooks_run_side_by_side_and_myst_nb_finds_them_in_its_cache(tmp_path):
    met = {name: [MEET.format(mine=name, other=other), f"print('{name} met')"] for name, other in ("ab", "ba")}
    write_book(tmp_path, **met, c=["print('c alone')"])
    status, log = build(tmp_path)
    assert status == 0 and executed(log) == ["a", "b", "c"], log
    assert log.count("Using cached notebook") == 3 and "Executing notebook using" not in log, log
    for name, words in {"a": "a met", "b": "b met", "c": "c alone"}.items():
        assert words in (tmp_path / "_build" / "html" / f"{name}.html").read_text()
    assert executed(build(tmp_path)[1]) == []
    write_book(tmp_path, c=["print('c changed')"])
    assert executed(build(tmp_path)[1]) == ["c"]


def test_on_one_core_they_run_one_after_the_other_and_one_that_fails_is_told_once(tmp_path):
    write_book(tmp_path, a=["print('sound')"], b=["x = 0", "1 / x"], c=["import os", "os._exit(1)"], d=["1"], e=["1"])
    status, log = build(tmp_path, cores=1)
    assert status != 0 and "Executing 4 notebooks, 1 at a time" in log, log  # d and e are one to the cache
    assert executed(log) == ["a", "d"]
    assert len(re.findall(r"b\.ipynb: WARNING: Executing notebook failed", log)) == 1
    assert log.count("ZeroDivisionError: division by zero") == 1 and "1 / x" in log
    assert len(re.findall(r"c\.ipynb: WARNING: Executing notebook failed:\s+Kernel died", log)) == 1
    assert re.search(r"Notebooks failed:\s+b, c\n", log)
    assert "Traceback" not in re.sub(r"ZeroDivisionError +Traceback", "", log)
    write_book(tmp_path, b=["x = 1", "1 / x"], c=["import os"])
    status, log = build(tmp_path)
    assert status == 0 and executed(log) == ["b", "c"], log


def test_a_build_that_is_interrupted_leaves_no_kernel(tmp_path):
    code = "import os, pathlib, time\npathlib.Path(f'{name}.pid').write_text(str(os.getpid()))\ntime.sleep(600)"
    write_book(tmp_path, **{name: [code.replace("{name}", name)] for name in "abc"})
    building = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expected = min(joblib.cpu_count(), 3)
    while len(pids := [path.read_text() for path in tmp_path.glob("*.pid")]) < expected or not all(pids):
        assert building.poll() is None, building.stdout.read()
        time.sleep(0.1)
    building.send_signal(signal.SIGINT)
    log, _ = building.communicate(timeout=300)
    assert building.returncode != 0 and "Interrupted!" in log, log
    assert len(list(tmp_path.glob("*.pid"))) == expected
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_the_longest_of_the_build_before_comes_first_and_a_new_one_before_it():
    seconds = {"a": 2.0, "b": 9.0, "new": None, "c": 5.0, "newer": None}
    assert longest_first(seconds) == ["new", "newer", "b", "c", "a"]
