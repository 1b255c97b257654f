"""The glossary of the built book: links that lead somewhere, characters that are drawn, words that the search finds."""

import re

import pytest

from tests.book.conftest import pages
from tests.book.links import Links
from tests.chapters import ROOT
from transformer_anatomy.page.glossary.terms import read_glossary

TERMS = read_glossary(ROOT / "book" / "glossary.yml")
ANCHORS = {term.anchor: term for term in TERMS.values()}


@pytest.fixture(scope="module")
def book(built):
    return {page: Links(built / f"{page}.html") for page in pages()}


def test_each_link_leads_to_an_entry_and_no_page_has_two_to_the_same(book):
    for page, links in book.items():
        targets = [link["href"].partition("#")[2] for link in links.terms]
        assert set(targets) <= set(ANCHORS) and set(targets) <= set(book["book/glossary"].ids), page
        assert len(targets) == len(set(targets)), page
        assert all(link["title"] == ANCHORS[t].definition for link, t in zip(links.terms, targets, strict=True))


def test_chapters_are_linked_and_no_page_is_a_forest(book, built):
    for page, links in book.items():
        words = len(re.sub(r"<[^>]+>", " ", (built / f"{page}.html").read_text(encoding="utf-8")).split())
        assert len(links.terms) < words / 40, page
    assert all(len(book[page].terms) > 15 for page in ("book/attention_math", "book/residuals", "book/six_layers"))


def test_everyday_words_are_linked_once_in_the_book(book):
    linked = [link["href"].partition("#")[2] for links in book.values() for link in links.terms]
    everyday = [target for target in linked if ANCHORS[target].everyday]
    assert len(everyday) == len(set(everyday)) > 15


def test_every_entry_stands_there_and_its_links_lead_to_the_very_place(book):
    glossary = book["book/glossary"]
    assert [anchor for anchor in glossary.ids if anchor.startswith("term-")] and set(ANCHORS) <= set(glossary.ids)
    places = [href for href in glossary.addresses if "#first-" in href]
    linked = {link["id"] for links in book.values() for link in links.terms if "id" in link}
    assert {href.partition("#")[2] for href in places} == linked and len(places) == len(linked) > 100
    for href in places:
        page, _, anchor = href.partition("#")
        assert anchor in book[f"book/{page.removesuffix('.html')}"].ids


# Draws every character of the page's Chinese, and one that no font has; equal pictures are boxes.
DRAW = """() => {
  const canvas = new OffscreenCanvas(40, 40), context = canvas.getContext("2d", {willReadFrequently: true});
  const draw = (character, family, language) => {
    context.clearRect(0, 0, 40, 40);
    context.font = `32px ${family}`;
    context.lang = language;
    context.fillText(character, 2, 34);
    return context.getImageData(0, 0, 40, 40).data.join();
  };
  return [...document.querySelectorAll(".terms [lang]")].flatMap(element => {
    const family = getComputedStyle(element).fontFamily;
    return [...element.textContent].filter(c => /\\p{Script=Han}/u.test(c))
      .map(c => [element.lang, c, draw(c, family, element.lang), draw("\\u{10FFFD}", family, element.lang)]);
  });
}"""


def test_both_scripts_are_drawn_and_no_character_is_a_box(visit, built):
    drawn = visit((built / "book" / "glossary.html").as_uri()).page.evaluate(DRAW)
    for language in ("zh-Hans", "zh-Hant", "zh-Hant-TW"):
        pictures = {character: picture for lang, character, picture, _ in drawn if lang == language}
        boxes = {box for lang, _, _, box in drawn if lang == language}
        assert len(pictures) > 50
        assert [character for character, picture in pictures.items() if picture in boxes] == []
        assert len(set(pictures.values())) == len(pictures), language


@pytest.mark.parametrize("words", ["残差", "殘差", "层归一化", "正規化", "softmax", "熵"])
def test_the_search_of_the_book_finds_a_term_in_each_script(visit, built, words):
    page = visit(f"{(built / 'search.html').as_uri()}?q={words}").page
    found = page.locator("#search-results ul.search a")
    found.first.wait_for()
    anchors = [href.partition("#")[2] for href in found.evaluate_all("links => links.map(link => link.href)")]
    assert any(anchor in ANCHORS and words in "".join(ANCHORS[anchor].names) for anchor in anchors)
    assert anchors[0] in ANCHORS
