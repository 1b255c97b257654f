"""The book that `make book` built. Each test that asks for a `page` runs once for every page of it."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"


def pages() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    return [toc["root"], *(entry["file"] for part in toc["parts"] for entry in part["chapters"])]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", pages())
    if "chapter" in metafunc.fixturenames:
        metafunc.parametrize("chapter", [page for page in pages() if (ROOT / f"{page}.ipynb").exists()])


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
