"""The built book as a reader opens it: on a plane, from a server or from disk, with a keyboard."""

import json
import re

import pytest
import yaml
from pybtex.database import parse_file

from tests.browsing import controls, drawn, move
from tests.chapters import ROOT

STATEMENTS = yaml.safe_load((ROOT / "book" / "claims.yml").read_text())
LINK = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"|<link\b[^>]*\bhref="([^"]+)"[^>]*>""")


def open_page(visit, address: str, page: str, **options):
    opened = visit(f"{address}/{page}.html", **options)
    opened.page.wait_for_load_state("load")
    return opened


def test_a_page_asks_for_nothing_from_outside_sets_its_mathematics_and_reports_no_error(visit, address, page):
    opened = open_page(visit, address, page)
    formulas = opened.page.locator("span.math, div.math").count()
    if formulas:
        opened.page.locator("mjx-container").first.wait_for()
        assert formulas <= opened.page.locator("mjx-container").count()
        assert "\\frac" not in opened.page.locator("main").inner_text()
    opened.page.wait_for_timeout(300)
    assert opened.outside == []
    assert opened.errors == []


def test_no_page_names_a_script_or_style_of_another_host(built, page):
    named = [url for pair in LINK.findall((built / f"{page}.html").read_text()) for url in pair if url]
    assert [url for url in named if url.startswith(("http:", "https:", "//"))] == []


def test_each_control_of_each_figure_changes_what_the_figure_draws(visit, address, chapter):
    opened = open_page(visit, address, chapter)
    figures = opened.page.locator("figure.explore").all()
    assert len(figures) >= 3
    for figure in figures:
        title = figure.locator(".title").inner_text()
        others = [other for other in figures if other is not figure][:2]
        for control in controls(figure):
            before, said = drawn(figure), figure.locator(".readout").inner_text()
            others_before = [drawn(other) for other in others]
            move(control)
            assert drawn(figure) != before, f"{title}: {control.get_attribute('aria-label')}"
            assert figure.locator(".readout").inner_text() != said, f"{title}: the words stood still"
            assert [drawn(other) for other in others] == others_before, f"{title} moved another"


def test_each_figure_can_be_read_without_seeing_it(visit, built, chapter):
    opened = open_page(visit, built.as_uri(), chapter)
    for figure in opened.page.locator("figure.explore").all():
        assert figure.locator("[role=img]").first.get_attribute("aria-label")
        assert figure.locator("[aria-live=polite]").inner_text().strip()
        assert all(control.get_attribute("aria-label") for control in controls(figure))
        figure.locator("details.data summary").click()
        assert figure.locator("details.data td").count() > 2


def test_without_scripts_each_figure_stands_there_as_a_picture(visit, built, chapter):
    opened = open_page(visit, built.as_uri(), chapter, java_script_enabled=False)
    for figure in opened.page.locator("figure.explore").all():
        shown = [picture for picture in figure.locator(".picture img").all() if picture.is_visible()]
        assert len(shown) == 1
        assert shown[0].get_attribute("alt")
        assert shown[0].evaluate("image => image.naturalWidth") > 100


@pytest.mark.parametrize("width", [1200, 390])
def test_nothing_sticks_out_of_a_page(visit, built, page, width):
    opened = open_page(visit, built.as_uri(), page, viewport={"width": width, "height": 900}, color_scheme="light")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    opened.page.emulate_media(color_scheme="dark")
    opened.page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_claim_stands_in_its_chapter_with_what_was_measured(visit, built, chapter):
    opened = open_page(visit, built.as_uri(), chapter)
    cards = opened.page.locator("article.claim").all()
    checked = [e["id"] for e in STATEMENTS if e["chapter"] == chapter.rsplit("/")[-1] and "unchecked" not in e]
    assert len(cards) == len(checked) > 10
    for card in cards:
        claim = json.loads(card.get_attribute("data-claim"))
        assert claim["id"] == card.get_attribute("id")
        assert card.locator("svg.measure").count() == 1


def test_an_exercise_answers_without_a_kernel(visit, built):
    page = open_page(visit, built.as_uri(), "book/softmax_decay").page
    form = page.locator("form").filter(has=page.locator("input[name=answer]")).first
    form.locator("input[name=answer]").fill("7")
    form.locator("input[name=answer]").press("Enter")
    assert "Not yet" in page.locator(".attempts").filter(visible=True).first.inner_text()


def test_the_bibliography_leads_to_every_reference(built):
    linked = (built / "book" / "bibliography.html").read_text()
    for entry in parse_file(ROOT / "book" / "references.bib").entries.values():
        doi, arxiv, url = (entry.fields.get(place) for place in ("doi", "eprint", "url"))
        address = url or (f"https://doi.org/{doi}" if doi else f"https://arxiv.org/abs/{arxiv}")
        assert f'href="{address}"' in linked
