"""Every text of every page on both papers, those in figures and pictures too, against what is painted behind it.

A text may cross a thin line: of the ten points of its box that are looked at, two may fall on something darker.
"""

from pathlib import Path

import pytest

from tests.book.conftest import pages
from tests.book.test_accessibility import THEME, settle

LEAST = 4.5  # WCAG 1.4.3, which would let headings off with 3
SWEEP = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
PAPERS = ["light", "dark"]
# Every control of every figure at its first or its last setting; of a group of choices one is chosen.
TO_AN_END = """(last) => {
  for (const figure of document.querySelectorAll("figure.explore")) {
    for (const control of figure.querySelectorAll(".controls input[type=range], .controls select")) {
      control.value = last ? control.max ?? control.options.length - 1 : 0;
      control.dispatchEvent(new Event("input"));
    }
    for (const group of figure.querySelectorAll("fieldset")) {
      const choices = group.querySelectorAll("input[type=radio]");
      choices[last ? choices.length - 1 : 0].click();
    }
  }
}"""


def faint(page, within: str) -> list[str]:
    """The texts whose contrast is below LEAST, with that contrast."""
    texts = page.evaluate(SWEEP, within)
    assert texts
    typical = [(text, text["ratios"][len(text["ratios"]) // 4]) for text in texts]
    return [f"{ratio:.2f} {text['words']!r} {text['where']}" for text, ratio in typical if ratio < LEAST]


@pytest.fixture(scope="module")
def site(built, serve) -> str:
    return serve(built)


@pytest.fixture
def open_page(visit, site):
    def open_it(name: str, scheme: str, width: int = 1200):
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "reduced_motion": "reduce"}
        page = visit(f"{site}/{name}.html", **options).page
        settle(page)
        return page

    return open_it


@pytest.mark.parametrize("scheme", PAPERS)
@pytest.mark.parametrize("name", [*pages(), *THEME])
def test_every_text_stands_out_from_what_is_behind_it(open_page, name, scheme):
    page = open_page(name, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    assert faint(page, "body") == []
    for last in (False, True):
        page.evaluate(TO_AN_END, last)
        if page.locator("figure.explore .picture").count():
            assert faint(page, "figure.explore .picture") == [], "with every control at an end"
