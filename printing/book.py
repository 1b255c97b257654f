"""The whole book as one PDF: title page, contents with numbers, every page of the table of contents, bookmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import Browser
from pypdf import PdfReader, PdfWriter
from pypdf.generic import BooleanObject, DictionaryObject, Fit, NameObject, TextStringObject

from printing import links
from printing.contents import Heading, Page, headings_of, pages_of
from printing.sheets import print_markup, print_page
from printing.tags import Tags
from transformer_anatomy.page.assets import asset

OPENING = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True).get_template("opening.html")
LIKELY = (
    4  # sheets for title page and contents: shorter ones end with a blank sheet, longer ones have all printed again
)


@dataclass(frozen=True)
class Printed:
    """A page of the book on its sheets, of which the first is number `sheet` of the book."""

    page: Page
    address: str
    title: str
    sheet: int
    sheets: PdfReader
    headings: list[Heading] = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "headings", headings_of(self.sheets, self.sheet))

    @property
    def sections(self) -> list[Heading]:
        return [heading for heading in self.headings if heading.level == 1]


def print_book(browser: Browser, root: Path, html: Path) -> PdfWriter:
    """The book whose _config.yml and _toc.yml stand in `root`, from its built pages in `html`."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    pages = pages_of(root / "_toc.yml")
    length, opening = 0, None
    while opening is None or len(opening.pages) > length:
        length = len(opening.pages) if opening else LIKELY
        printed = _print_pages(browser, html, config["title"], pages, 1 + length)
        opening = _print_opening(browser, config, printed)
    return _join(config, html, opening, printed)


def _print_pages(browser: Browser, html: Path, book: str, pages: Sequence[Page], sheet: int) -> list[Printed]:
    targets, printed = links.targets(html, [page.name for page in pages]), []
    for page in pages:
        file = html / f"{page.name}.html"
        title, sheets = print_page(browser, file, book, sheet, targets[page.name])
        printed.append(Printed(page, file.resolve().as_uri(), title, sheet, sheets))
        sheet += len(sheets.pages)
    return printed


def _print_opening(browser: Browser, config: Mapping[str, Any], printed: Sequence[Printed]) -> PdfReader:
    parts = [{"caption": part, "pages": list(pages)} for part, pages in groupby(printed, lambda one: one.page.part)]
    about = {"title": config["title"], "author": config.get("author", ""), "date": f"{date.today():%-d %B %Y}"}
    markup = OPENING.render(about, parts=parts, version=version("transformer-anatomy"), tokens=asset("tokens.css"))
    return print_markup(browser, markup)


def _join(config: Mapping[str, Any], html: Path, opening: PdfReader, printed: Sequence[Printed]) -> PdfWriter:
    writer = PdfWriter()
    tags, names, marked = Tags(writer), {}, {}
    for sheets, name in [(opening, ""), *((one.sheets, one.page.name) for one in printed)]:
        first = len(writer.pages)
        for sheet in sheets.pages:
            writer.add_page(sheet)
        while name == "" and len(writer.pages) + 1 < printed[0].sheet:
            writer.add_blank_page()
        tags.add(sheets, first)
        marked[name] = links.places(sheets, 1 + first)
        names |= dict.fromkeys(range(1 + first, 1 + len(writer.pages)), name)
    links.lead_inside(writer, html, names, marked)
    tags.write()
    _add_bookmarks(writer, printed)
    writer.add_metadata({"/Title": config["title"], "/Author": config.get("author", "")})
    writer.root_object[NameObject("/Lang")] = TextStringObject("en")
    preferences = DictionaryObject({NameObject("/DisplayDocTitle"): BooleanObject(True)})
    writer.root_object[NameObject("/ViewerPreferences")] = preferences
    writer.page_mode = "/UseOutlines"
    return writer


def _add_bookmarks(writer: PdfWriter, printed: Sequence[Printed]) -> None:
    """Part, page, section and what is below it, as headings stand on the sheets."""

    def add(title: str, sheet: int, above: Any = None, *, top: float | None = None, is_open: bool = False) -> Any:
        fit = Fit.xyz(top=top) if top is not None else Fit.fit()
        return writer.add_outline_item(title=title, page_number=sheet - 1, parent=above, fit=fit, is_open=is_open)

    add("Contents", 2)
    for part, pages in groupby(printed, lambda one: one.page.part):
        pages = list(pages)
        above = add(part, pages[0].sheet, is_open=True) if part else None
        for one in pages:
            parents = [add(one.title, one.sheet, above)]
            for heading in one.headings:
                if heading.level:
                    del parents[heading.level :]
                    parents.append(add(heading.title, heading.sheet, parents[-1], top=heading.top))
