"""What the benchmark of the build does between its four builds; nothing is timed."""

import os
import subprocess

import nbformat
import pytest

from benchmarks import build
from tests.page.test_sphinxext import write_notebook

# Stands for a build: tells what it found, and leaves what a build leaves.
MAKEFILE = """
.PHONY: book
book:
	@(ls -A _build | tr '\\n' ' '; grep -o Indeed book/*.ipynb; echo .) >> ../told
	@mkdir -p _build/html _build/.jupyter_cache; touch _build/log.txt
slow:
	@mkdir -p _build/html; echo 'a: Executed notebook in 1 seconds' > _build/log.txt
fail:
	@echo a cell failed; false
"""


@pytest.fixture
def tree(tmp_path):
    """A working tree with a file that git ignores, one that it does not know yet, and one that is gone."""
    root = tmp_path / "tree"
    (root / "book").mkdir(parents=True)
    (root / "_build").mkdir()
    for name in (*build.STAMPED, "gone", "_build/old", ".gitignore"):
        (root / name).write_text("_build/\n")
    (root / "Makefile").write_text(MAKEFILE)
    write_notebook(root / build.CHAPTER, ["# A chapter", "Some prose.", "More."])
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    (root / "gone").unlink()
    (root / "new").write_text("not committed yet")
    return root


def test_the_copy_is_the_working_tree_without_what_git_ignores(tree, tmp_path):
    (tmp_path / "venv").mkdir()
    build.copy(tree, tmp_path / "copy", tmp_path / "venv")
    names = {path.name for path in (tmp_path / "copy").iterdir()}
    assert names == {*build.STAMPED, ".gitignore", "book", "new", ".venv"}
    assert (tmp_path / "copy" / ".venv").resolve() == tmp_path / "venv"
    assert {os.stat(tmp_path / "copy" / name).st_mtime for name in build.STAMPED} == {0}  # so that make keeps .venv
    build.copy(tree, tmp_path / "other", None)
    assert not (tmp_path / "other" / ".venv").exists()


def test_four_builds_find_nothing_then_all_then_another_word_then_no_pages(tree, tmp_path):
    cases = list(build.measured(tree))
    assert [bound for _, _, bound in cases] == [600, 30, 30, 30]
    told = (tmp_path / "told").read_text().split(".\n")
    assert told == ["old ", ".jupyter_cache html log.txt old ", ".jupyter_cache html log.txt old Indeed\n",
                    ".jupyter_cache log.txt old Indeed\n", ""]  # fmt: skip
    prose = [cell.source for cell in nbformat.read(tree / build.CHAPTER, as_version=4).cells]
    assert prose == ["# A chapter", "Some prose. Indeed.", "More."]


def test_a_build_that_fails_or_a_warm_one_that_executes_ends_the_command(tree, monkeypatch):
    with pytest.raises(RuntimeError, match=r"make fail failed:\na cell failed"):
        build.seconds(tree, "fail")
    real = build.seconds
    monkeypatch.setattr(build, "seconds", lambda root, target: real(root, "slow"))
    steps = build.measured(tree)
    assert next(steps)[0] == "Building the book, cold: every page is executed"
    with pytest.raises(RuntimeError, match="nothing has changed, and yet a page was executed"):
        next(steps)
