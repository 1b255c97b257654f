"""Whoever opens the book sees in the first screen what it asks, and a figure; and can move it."""

import re
from collections import Counter

import yaml
from playwright.sync_api import expect

from tests.browsing import controls, drawn, move
from tests.chapters import ROOT

STATEMENTS = yaml.safe_load((ROOT / "book" / "claims.yml").read_text())


def test_the_first_screen_has_the_question_and_a_figure_with_its_controls(visit, built):
    page = visit(f"{built.as_uri()}/index.html", viewport={"width": 1280, "height": 800}).page
    page.wait_for_url("**/book/index.html")
    for part in ("h1:visible", ".question", "figure.explore .title", "figure.explore .controls input"):
        box = page.locator(part).first.bounding_box()
        assert box["y"] + box["height"] <= 800, part


def test_its_figure_moves_and_says_what_it_shows(visit, address):
    page = visit(f"{address}/book/index.html").page
    figure = page.locator("figure.explore")
    for control in controls(figure):
        before, said = drawn(figure), figure.locator(".readout").inner_text()
        move(control)
        assert drawn(figure) != before and figure.locator(".readout").inner_text() != said


def test_its_title_holds_at_every_setting(visit, built):
    """In layers 2 to 5, and only there, more than half goes to [CLS]."""
    figure = visit(f"{built.as_uri()}/book/index.html").page.locator("figure.explore")
    sentence, layer, readout = figure.locator("select"), figure.locator("input[type=range]"), figure.locator(".readout")
    shares = []
    for choice in range(3):
        sentence.select_option(index=choice)
        for number in range(1, 7):
            layer.fill(str(number - 1))
            expect(readout).to_have_text(re.compile(rf"^Layer {number}: of a word’s attention \d\.\d+ goes to \[CLS\]"))
            shares.append((number, float(re.search(r"\d\.\d+", readout.inner_text())[0])))
    assert len(shares) == 18
    assert {number for number, share in shares if share > 0.5} == {2, 3, 4, 5}
    assert {number for number, share in shares if share <= 0.5} == {1, 6}


def test_it_counts_the_verdicts_of_the_ledger(visit, built):
    page = visit(f"{built.as_uri()}/book/index.html").page
    table = page.locator(".results table")
    shown = {
        row.locator("th").inner_text(): row.locator("td").first.inner_text() for row in table.locator("tbody tr").all()
    }
    assert shown == {verdict: str(n) for verdict, n in Counter(entry["verdict"] for entry in STATEMENTS).items()}
    checked = sum("unchecked" not in entry for entry in STATEMENTS)
    assert table.locator("caption").inner_text().startswith(f"{len(STATEMENTS)} statements, {checked} of them checked")
