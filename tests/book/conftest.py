"""The book that `make book` built.

A test that asks for a `page` runs once for every page of it, for an `executed` one for every notebook, and for a
`chapter` for every notebook that teaches.
"""

from pathlib import Path

import pytest
import yaml

from tests.chapters import Chapter, chapters, notebooks

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"


def pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", pages())
    for kind, found in (("executed", notebooks()), ("chapter", chapters())):
        if kind in metafunc.fixturenames:
            metafunc.parametrize(kind, [name(notebook) for notebook in found])


def name(notebook: Chapter) -> str:
    """As the table of contents has it."""
    return notebook.path.relative_to(ROOT).with_suffix("").as_posix()


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the built book."""
    if not (HTML / "index.html").exists():
        pytest.fail("there is no built book: make book")
    return HTML


@pytest.fixture(params=["http", "file"])
def address(request, built, serve) -> str:
    """Where the book lies: on a server of this machine, and on disk."""
    return serve(built) if request.param == "http" else built.as_uri()
