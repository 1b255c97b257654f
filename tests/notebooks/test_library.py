"""The page of the library leaves out nothing that can be measured, and shows what it says."""

import ast
import re

import pytest

from tests.chapters import ROOT, Chapter
from transformer_anatomy import Names

LIBRARY = Chapter(ROOT / "book" / "library.ipynb")
ROOMS = Names().rooms


def names_in(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


@pytest.fixture(scope="module")
def used() -> set[str]:
    """The names that cells after the imports use."""
    return set().union(*(names_in(cell.source) for cell in LIBRARY.code_cells[1:]))


EVERY = [*ROOMS["instruments"], *ROOMS["lab"]]


@pytest.mark.parametrize("name", EVERY)
def test_everything_of_instruments_and_lab_is_told_of_in_words(name):
    assert re.search(rf"`{name}\b", LIBRARY.prose)


@pytest.mark.parametrize("name", [name for name in ROOMS["instruments"] if name[0].islower()])
def test_every_instrument_has_an_example(used, name):
    assert name in used


def test_examine_needs_three_lines():
    (three,) = [cell.source for cell in LIBRARY.code_cells if cell.id == "examine"]
    assert "examine(yours" in three and len([line for line in three.splitlines() if line.strip()]) == 3


def test_every_section_that_the_page_links_to_is_there():
    links = re.findall(r"\]\(#(library-[\w-]+)\)", LIBRARY.prose)
    labels = re.findall(r"^\((library-[\w-]+)\)=$", LIBRARY.prose, re.MULTILINE)
    assert len(links) > 8 and set(links) <= set(labels)


def test_all_names_stand_at_the_end():
    assert [cell.source for cell in LIBRARY.code_cells][-1] == "Names()"
