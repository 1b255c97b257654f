"""Would the tests notice? Each classic mistake is written into a copy of the library, and the test named must fail."""

import contextlib
import gc
import io
import multiprocessing
import os
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.mutations import MUTATIONS

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "src" / "transformer_anatomy"
PRELOADED = [
    "torch",
    "torch.fx.experimental.symbolic_shapes",
    "pytest",
    "playwright.sync_api",
    "tokenizers",
    "jaxtyping",
]


def cases():
    return [
        pytest.param(file, mutation, id=mutation.mistake.replace(" ", "-"))
        for file, mutations in MUTATIONS.items()
        for mutation in mutations
    ]


def path_of(file: str, name: str) -> str:
    """The test called `name`, which stands in the file that mirrors the source `file` unless it says where."""
    room, _, source = file.rpartition("/")
    return name if "/" in name else f"{room}/test_{source}::{name}"


def run_tests(copy: str, tests: list[str]) -> tuple[int, str]:
    """Run `tests` on the library in `copy`, in a process of its own: the exit status of pytest and what it printed."""
    gc.freeze()  # pytest collects garbage several times; what was loaded before need not be searched.
    sys.path.insert(0, copy)
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # Plugins take longer to load than the tests take to run.
    options = ["-q", "-x", "-W", "error", "-c", os.devnull, "--rootdir", str(ROOT), "-p", "no:cacheprovider"]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        status = pytest.main([*options, *(str(ROOT / "tests" / test) for test in tests)])
    assert sys.modules["transformer_anatomy"].__file__.startswith(copy)
    return int(status), printed.getvalue()


@pytest.fixture(scope="module")
def processes():
    """Fresh processes, each used once, that share what takes long to import."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with ProcessPoolExecutor(max_workers=1, mp_context=context, max_tasks_per_child=1) as pool:
        yield pool


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(LIBRARY, tmp_path / "transformer_anatomy", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def test_the_library_as_it_is_passes(processes, copy):
    tests = {path_of(file, mutation.noticed_by) for file, mutations in MUTATIONS.items() for mutation in mutations}
    status, printed = processes.submit(run_tests, str(copy), sorted(tests)).result()
    assert status == pytest.ExitCode.OK, printed


@pytest.mark.parametrize(("file", "mutation"), cases())
def test_a_mistake_is_noticed(processes, copy, file, mutation):
    mutated = copy / "transformer_anatomy" / file
    source = mutated.read_text(encoding="utf-8")
    assert source.count(mutation.right) == 1, "the line to be mutated is not there, or not once"
    mutated.write_text(source.replace(mutation.right, mutation.wrong), encoding="utf-8")
    status, printed = processes.submit(run_tests, str(copy), [path_of(file, mutation.noticed_by)]).result()
    assert status == pytest.ExitCode.TESTS_FAILED, printed
