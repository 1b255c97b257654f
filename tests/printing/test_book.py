"""A book of two small pages on paper: numbers that stay true when the contents grow, links, and what is refused."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from printing import links, sheets
from printing.book import LIKELY, print_book
from printing.contents import Page, pages_of
from tests.chapters import ROOT

PAGE = """<!doctype html><html lang="en"><head><title>{title}</title></head><body><article class="bd-article"><section>
<h1>{title}<a class="headerlink" href="#x">#</a></h1>{body}</section></article></body></html>"""
FIRST = '<h2 id="here">Here</h2><p>See <a href="second.html#card">a card</a>, <a href="second.html">it</a> and ' + (
    '<a href="https://example.org/">a place</a>, <a href="../plain.csv">a file</a>, <a href="#here">here</a>.</p>'
)
SECOND = '<h2>Near</h2><p style="break-after: page">One.</p><h2>Far</h2><p id="card">A card of the second page.</p>'


@pytest.fixture
def small(tmp_path):
    """A function that writes the two pages; returns the root of the book and the folder of its pages."""

    def write(first=FIRST, second=SECOND):
        html = tmp_path / "_build" / "html"
        (html / "book").mkdir(parents=True)
        for name, title, body in (("first", "The “first” page", first), ("second", "Second & last", second)):
            page = PAGE.format(title=title.replace("&", "&amp;"), body=body)
            (html / "book" / f"{name}.html").write_text(page, encoding="utf-8")
        (html / "plain.csv").write_text("1")
        toc = {"format": "jb-book", "root": "book/first"}
        toc["parts"] = [{"caption": "Only part", "chapters": [{"file": "book/second"}]}]
        (tmp_path / "_toc.yml").write_text(yaml.safe_dump(toc))
        (tmp_path / "_config.yml").write_text(yaml.safe_dump({"title": "Small", "author": "Nobody"}))
        return tmp_path, html

    return write


def test_pages_come_in_the_order_of_the_contents_with_their_parts(small):
    root, _ = small()
    assert pages_of(root / "_toc.yml") == [Page("book/first", None), Page("book/second", "Only part")]


def test_only_places_that_another_page_points_at_are_marked(small):
    _, html = small()
    assert links.targets(html, ["book/first", "book/second"]) == {"book/first": [], "book/second": ["card"]}


def test_each_link_leads_to_its_sheet_or_outside_and_one_to_a_file_is_no_link(browser, small):
    root, html = small()
    book = print_book(browser, root, html)
    first = book.pages[LIKELY]
    found = [link.get_object() for link in first["/Annots"]]
    numbers = {page.indirect_reference.idnum: number for number, page in enumerate(book.pages)}
    aims = [numbers[link["/Dest"][0].idnum] for link in found if "/Dest" in link]
    assert aims == [LIKELY + 2, LIKELY + 1, LIKELY]
    assert [link["/A"]["/URI"] for link in found if "/A" in link] == ["https://example.org/"]


def test_numbers_stay_true_when_the_contents_are_longer_than_expected(browser, small, monkeypatch):
    monkeypatch.setattr("printing.book.LIKELY", 1)  # sheet for what takes two
    root, html = small()
    book = print_book(browser, root, html)
    opening, contents, first, second, last = [page.extract_text().split("\n") for page in book.pages]
    assert opening[0] == "Small" and first[0] == "3" and second[0] == "4" and last[1] == "5"
    assert "Second & last 4" in " ".join(contents) and "Far 5" in " ".join(contents)


def test_a_figure_that_is_never_drawn_stops_the_printing(browser, small):
    root, html = small(first='<figure class="explore"><p class="title">Stuck</p></figure>')
    with pytest.raises(Exception, match="never drawn: Stuck"):
        print_book(browser, root, html)


def test_the_command_prints_the_book_in_whose_folder_it_is_called(small):
    root, html = small()
    (html / "index.html").touch()
    command = [sys.executable, "-m", "printing"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"\d+ sheets, [\d.]+ MB, printed in \d+ s\n", ran.stdout)
    assert (root / "_build" / "anatomy-of-the-transformer.pdf").read_bytes().startswith(b"%PDF")


def test_without_chromium_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setattr(sheets.shutil, "which", lambda name: None)
    with pytest.raises(FileNotFoundError, match="install chromium, or let CHROMIUM name one"), sheets.chromium():
        pass
