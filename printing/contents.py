"""What the book holds, in order: the pages of _toc.yml with their parts, and the entries of the printed contents."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pypdf import PdfReader
from sphinx_external_toc.parsing import parse_toc_yaml


@dataclass(frozen=True)
class Page:
    """A page of the book by its name in _toc.yml, and the caption of the part that it stands in, or None."""

    name: str
    part: str | None


@dataclass(frozen=True)
class Heading:
    """A heading on paper: `level` 0 for a page's title, the number of its sheet in the book, and its height there."""

    level: int
    title: str
    sheet: int
    top: float


def pages_of(toc: Path) -> list[Page]:
    """The pages of the table of contents at `toc`, the root first."""
    site = parse_toc_yaml(toc)

    def below(name: str, part: str | None) -> Iterator[Page]:
        yield Page(name, part)
        for tree in site[name].subtrees:
            for item in tree.items:
                yield from below(str(item), tree.caption or part)

    return list(below(site.root.docname, None))


def headings_of(printed: PdfReader, first: int) -> list[Heading]:
    """The headings of one printed page whose first sheet is number `first` of the book."""

    def walk(outline: list, level: int) -> Iterator[Heading]:
        for item in outline:
            if isinstance(item, list):
                yield from walk(item, level + 1)
            else:
                sheet = first + printed.get_destination_page_number(item)
                yield Heading(level, " ".join(item.title.split()), sheet, float(item.top))

    return list(walk(printed.outline, 0))
