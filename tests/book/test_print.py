"""The book on paper: a page as a browser prints it, and the PDF that `make pdf` joins, of five pages here."""

import html
import io
import re

import numpy as np
import pytest
import yaml
from PIL import Image

from printing.book import print_book
from tests.book.conftest import ROOT

pytestmark = pytest.mark.xdist_group("print")  # one PDF for all

SHEET = {"width": 729, "height": 1000}
PAGES = ("book/index", "book/softmax_decay", "book/six_layers", "book/ledger", "book/bibliography")

# Whatever answers to a hand, or leads around the book; a menu and a field are words once their frames are gone.
CONTROLS = """() => [...document.querySelectorAll("button, nav, dialog, .bd-sidebar-primary, .bd-sidebar-secondary, " +
  ".prev-next-footer, .headerlink, [type=range], [type=checkbox], [type=search], select, .explore input")]
  .filter(element => element.checkVisibility() && element.getBoundingClientRect().width > 1)
  .filter(element => element.closest(".layers") === null && getComputedStyle(element).appearance !== "none")
  .map(element => element.outerHTML.slice(0, 80))"""
CUT = """() => [document.documentElement, ...document.querySelectorAll("article *")]
  .filter(element => element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 1)
  .filter(element => element === document.documentElement || getComputedStyle(element).overflowX !== "visible")
  .filter(element => !element.closest("mjx-container, svg, .hidden, legend"))
  .map(element => `${element.outerHTML.slice(0, 80)} ${element.scrollWidth} > ${element.clientWidth}`)"""
PALE = """() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(v => (v / 255) ** 2.2);
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT), pale = [];
  for (let node; node = walker.nextNode();) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || element.closest("svg, script") || !element.checkVisibility()) continue;
    if (style.backgroundColor === "rgba(0, 0, 0, 0)" && light(style.color) > .25) pale.push([node.data, style.color]);
  }
  return { pale, paper: getComputedStyle(document.body).backgroundColor };
}"""


def on_paper(visit, built, page):
    """The page of a reader who likes it dark, as print styles show it."""
    opened = visit(f"{built.as_uri()}/{page}.html", color_scheme="dark", viewport=SHEET).page
    opened.wait_for_load_state("load")
    assert opened.evaluate("document.documentElement.dataset.theme") == "dark"
    opened.emulate_media(media="print")
    return opened


def test_on_paper_a_page_is_its_text_alone_dark_on_white_and_whole(visit, built, page):
    opened = on_paper(visit, built, page)
    assert opened.evaluate(CONTROLS) == []
    assert opened.evaluate(CUT) == []
    assert opened.evaluate(PALE) == {"pale": [], "paper": "rgb(255, 255, 255)"}
    assert opened.locator("article h1").first.is_visible()


def test_on_paper_each_figure_is_one_picture_on_white_with_its_settings_in_words(visit, built, chapter):
    opened = on_paper(visit, built, chapter)
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    for figure in opened.locator("figure.explore").all():
        figure.scroll_into_view_if_needed()
        title = figure.locator(".title").inner_text()
        picture = figure.locator(".picture")
        shown = [one for one in picture.locator("> img, picture img, svg[role=img]").all() if one.is_visible()]
        assert len(shown) == 1, title
        assert figure.locator(".readout").inner_text().strip() and figure.locator("figcaption").inner_text().strip()
        assert not figure.locator(".state, .data, [type=range]").filter(visible=True).count(), title
        for slider in figure.locator(".controls .slider").filter(visible=True).all():
            assert re.search(r"\S\s+\S", slider.inner_text()), f"{title}: a setting without its value"
        grey = np.asarray(Image.open(io.BytesIO(picture.screenshot())).convert("L"))
        assert (grey > 250).mean() > 0.1 and (grey < 128).mean() > 0.001, f"{title}: no ink on white paper"
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.fixture(scope="module")
def book(browser, built, tmp_path_factory):
    """Five pages of the built book as one PDF, read back from its bytes."""
    from pypdf import PdfReader

    root = tmp_path_factory.mktemp("paper")
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    for part in toc["parts"]:
        part["chapters"] = [entry for entry in part["chapters"] if entry["file"] in PAGES]
    toc["parts"] = [part for part in toc["parts"] if part["chapters"]]
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))
    (root / "_config.yml").write_text((ROOT / "_config.yml").read_text())
    written = io.BytesIO()
    print_book(browser, root, built).write(written)
    return PdfReader(written)


def bookmarks(book, level=None):
    """(level, title, index of the sheet) of each bookmark."""

    def walk(items, depth):
        for item in items:
            if isinstance(item, list):
                yield from walk(item, depth + 1)
            else:
                yield depth, item.title, book.get_destination_page_number(item)

    return [found for found in walk(book.outline, 0) if level in (None, found[0])]


def squeezed(text):
    """Without spaces, and with the ligatures and dashes that a PDF's text has its own codes for set apart."""
    return re.sub(r"\W+", "", text)


def title_of(built, page):
    article = (built / f"{page}.html").read_text().partition("<article")[2]
    found = re.search(r"<h1>(.*?)<a class=\"headerlink", article, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", found[1]))


def chapters_of(book, built):
    """For each page in PAGES, the sheets that it takes, by their index."""
    starts = {title: sheet for level, title, sheet in bookmarks(book) if level <= 1}
    starts = [starts[title_of(built, page)] for page in PAGES]
    return dict(zip(PAGES, map(range, starts, [*starts[1:], len(book.pages)]), strict=True))


def test_the_bookmarks_are_the_table_of_contents_and_lead_to_their_headings(book, built):
    titles = [title_of(built, page) for page in PAGES]
    tops = [title for level, title, _ in bookmarks(book, 0)]
    assert tops == ["Contents", titles[0], "Attention", "The stack", "Back matter"]
    assert [title for _, title, _ in bookmarks(book, 1) if title in titles] == titles[1:]
    sections = [(title, sheet) for level, title, sheet in bookmarks(book) if level == 2]
    assert len(sections) > 20
    for title, sheet in sections:
        assert squeezed(title) in squeezed(book.pages[sheet].extract_text()), title


def test_each_sheet_carries_its_number_and_the_contents_name_it(book, built):
    contents = squeezed("".join(book.pages[sheet].extract_text() for sheet in range(1, 4)))
    for page, sheets in chapters_of(book, built).items():
        assert squeezed(f"{title_of(built, page)} {sheets[0] + 1}") in contents
        for sheet in sheets:
            lines = book.pages[sheet].extract_text().split("\n")
            assert str(sheet + 1) in lines[:4], f"sheet {sheet + 1} of {page}"


def test_the_last_sentence_of_each_page_is_on_paper(book, built, visit):
    for page, sheets in chapters_of(book, built).items():
        opened = visit(f"{built.as_uri()}/{page}.html").page
        last = opened.locator("article p, article td, article li").filter(visible=True).last.inner_text()
        text = squeezed("".join(book.pages[sheet].extract_text() for sheet in sheets))
        assert squeezed(last)[-60:] in text, last


def test_answers_stand_behind_all_the_questions_of_their_chapter(book, built):
    sheets = {title: sheet for _, title, sheet in bookmarks(book, 2)}
    page = chapters_of(book, built)["book/six_layers"]
    questions = [sheet for sheet in page if "The answer is at the end" in book.pages[sheet].extract_text()]
    answers = max(sheet for _, title, sheet in bookmarks(book, 2) if title == "Answers" and sheet in page)
    assert len(questions) > 1 and max(questions) <= answers
    assert sheets["Folded code"] > answers


def test_links_lead_inside_the_book_and_reading_order_is_kept(book, built):
    numbers = [page["/StructParents"] for page in book.pages if "/StructParents" in page]
    links = [link.get_object() for page in book.pages for link in page.get("/Annots", ())]
    numbers += [link["/StructParent"] for link in links if "/StructParent" in link]
    root = book.trailer["/Root"]["/StructTreeRoot"]
    known = root["/ParentTree"]["/Nums"][::2]
    assert len(set(numbers)) == len(numbers) and set(numbers) <= set(known)
    assert len(root["/K"]) == 1 + len(PAGES)
    outside = [link["/A"]["/URI"] for link in links if "/URI" in link.get("/A", {})]
    assert outside and all(address.startswith("http") for address in outside)
    # the ledger leads to cards: a link at the ledger to a sheet of the chapter that has the card
    at = {page.indirect_reference.idnum: number for number, page in enumerate(book.pages)}
    pages = chapters_of(book, built)
    aims = [
        at[link.get_object()["/Dest"][0].idnum]
        for sheet in pages["book/ledger"]
        for link in book.pages[sheet].get("/Annots", ())
        if "/Dest" in link.get_object()
    ]
    assert len({aim for aim in aims if aim in pages["book/six_layers"]}) > 5
