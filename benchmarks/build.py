"""How long `make book` takes: from nothing, and after the changes that are made to a book every day.

    python -m benchmarks.build                # in a copy of the working tree, with this .venv in place
    python -m benchmarks.build --record       # and keep the figures in measured.json
    python -m benchmarks.build --set-up       # besides, how long it takes to make a .venv, with all its downloads

The copy holds what git would commit and nothing that it ignores: no _build, so that the first build executes every page
and has no cache of Sphinx. The others follow in the same copy. A build that fails, or a warm one that executes a page,
ends the command. Seconds are those of the clock; close other programs. The exit status is 1 if a bound is missed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.record import record

ROOT = Path(__file__).parents[1]
COLD, WARM = 600, 30  # s
STAMPED = ("requirements.txt", "constraints.txt", "pyproject.toml", "Makefile")  # newer than .venv, they would renew it
CHAPTER = "book/softmax_decay.ipynb"


def copy(root: Path, target: Path, venv: Path | None) -> None:
    """What git would commit below `root`, with `venv` in its place; None leaves that to make."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    for name in filter(None, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")):
        if (root / name).is_file():  # a file may be deleted and not committed yet
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)
    if venv is not None:
        (target / ".venv").symlink_to(venv)
        for name in STAMPED:
            os.utime(target / name, (0, 0))


def seconds(root: Path, target: str) -> float:
    """How long make takes. Raises `RuntimeError` with its output if it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PYTHONPATH"] = str(root / "src")  # .venv knows the library of the tree it was made in
    begun = time.perf_counter()
    done = subprocess.run(
        ["make", target], cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    taken = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(f"make {target} failed:\n{done.stdout}")
    return taken


def nothing(root: Path) -> None:
    """Changes nothing."""


def one_word(root: Path) -> None:
    """Adds a word to the prose of a chapter."""
    notebook = json.loads((root / CHAPTER).read_text(encoding="utf-8"))
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    prose[1]["source"] = "".join(prose[1]["source"]) + " Indeed."
    (root / CHAPTER).write_text(json.dumps(notebook, indent=1, ensure_ascii=False), encoding="utf-8")


def no_pages(root: Path) -> None:
    """Removes the written pages, and neither what Sphinx has read nor the outputs of the notebooks."""
    shutil.rmtree(root / "_build" / "html")


CASES: list[tuple[str, int, Callable[[Path], None]]] = [
    ("Building the book, cold: every page is executed", COLD, nothing),
    ("Building the book, warm: nothing has changed", WARM, nothing),
    ("Building the book, warm: one word of prose has changed", WARM, one_word),
    ("Building the book, warm: the written pages are gone", WARM, no_pages),
]


def measured(root: Path) -> Iterator[tuple[str, float, int]]:
    """The cases, one after the other in the copy `root`: name, seconds, bound."""
    for name, bound, change in CASES:
        change(root)
        taken = seconds(root, "book")
        log = (root / "_build" / "log.txt").read_text(encoding="utf-8")
        if bound == WARM and "Executed notebook" in log:
            raise RuntimeError(f"{name}, and yet a page was executed:\n{log}")
        yield name, taken, bound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="keep the figures in measured.json")
    parser.add_argument("--set-up", action="store_true", help="make a .venv from nothing, too")
    arguments = parser.parse_args()
    if not Path(sys.prefix, "book").exists():
        parser.error("run it with the Python of .venv, after make book")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        if arguments.set_up:
            copy(ROOT, Path(folder, "new"), None)
            print(f"{seconds(Path(folder, 'new'), '.venv/book'):8.1f} s           making .venv", flush=True)
        copy(ROOT, Path(folder, "copy"), Path(sys.prefix))
        for name, taken, bound in measured(Path(folder, "copy")):
            missed |= taken > bound
            print(f"{taken:8.1f} s of {bound:4}  {name}", flush=True)
            if arguments.record:
                record(name, taken, "s", at_most=bound, command="make benchmark-build")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
