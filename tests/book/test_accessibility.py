"""Every page of the built book as axe-core judges it: WCAG 2.2 A and AA, and what axe calls best practice.

The page at the root is left out: it sends the reader on at once, to a page that is judged here. Colours are judged by
axe on light paper, and for both papers, figures and folds by test_contrast.py, which needs a tenth of axe's time.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.book.conftest import pages

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
THEME = ["search", "genindex"]  # pages that the theme makes
UNFOLD = "document.querySelectorAll('details').forEach(details => { details.open = true; })"
SOME = "book/bibliography"  # where what is the same on every page is judged


def found(page, context: str | None = None, *, colours: bool = True) -> list[str]:
    """What axe calls serious or critical on the page as it stands; the rest is printed, for a test that fails."""
    rules = {"color-contrast": {"enabled": colours}}
    options = {"runOnly": {"type": "tag", "values": TAGS}, "rules": rules, "resultTypes": ["violations"]}
    violations = Axe().run(page, context, options).response["violations"]
    told = [
        f"{violation['impact']} {violation['id']}: {' '.join(map(str, node['target']))} is {node['html'][:120]}"
        for violation in violations
        for node in violation["nodes"]
    ]
    print(*told, sep="\n")
    return [line for line in told if line.startswith(("serious", "critical"))]


def settle(page) -> None:
    """Waits until mathematics is set and every figure is mounted."""
    for figure in page.locator("figure.explore").all():
        figure.scroll_into_view_if_needed()
    page.wait_for_function("[...document.querySelectorAll('figure.explore')].every(figure => figure.dataset.mounted)")
    page.evaluate("async () => { await window.MathJax?.startup?.promise; scrollTo(0, 0); }")
    page.wait_for_timeout(350)  # the theme gives tab stops to code with a delay of 300 ms


@pytest.fixture(scope="module")
def site(built, serve) -> str:
    return serve(built)


@pytest.fixture
def open_page(visit, site):
    """Opens a page of the book and waits until it stands still."""
    opened = []

    def open_it(name: str, **options):
        opened.append(visit(f"{site}/{name}.html", reduced_motion="reduce", **options))
        settle(opened[-1].page)
        return opened[-1].page

    yield open_it
    assert [visit.outside for visit in opened] == [[]] * len(opened)


@pytest.mark.parametrize("name", [*pages(), *THEME])
def test_axe_finds_nothing_on_a_page_wide_and_folded_or_narrow_and_unfolded(open_page, name):
    page = open_page(name, viewport={"width": 1200, "height": 900})
    assert found(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 390, "height": 900})
    page.evaluate(UNFOLD)
    page.wait_for_timeout(350)
    assert found(page, colours=False) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_the_sidebar_of_a_narrow_page(open_page, scheme):
    page = open_page(SOME, viewport={"width": 390, "height": 900}, color_scheme=scheme)
    page.locator(".primary-toggle").click()
    page.locator("#pst-primary-sidebar-modal").get_by_text("Back matter").wait_for()
    page.wait_for_timeout(350)  # it slides in
    assert found(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_axe_finds_nothing_in_the_search_and_its_results(open_page, width, scheme):
    page = open_page(SOME, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").wait_for()
    assert found(page) == []
    page.keyboard.type("residual")
    page.keyboard.press("Enter")
    page.locator("ul.search li p").first.wait_for()
    page.wait_for_timeout(350)
    assert found(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_at_an_answered_exercise_and_a_prediction(open_page, scheme):
    page = open_page("book/softmax_decay", color_scheme=scheme)
    exercise = page.locator("section.exercise").filter(has=page.locator("form input[name=answer]")).first
    for answer in ("7", "not a number"):
        exercise.locator("input[name=answer]").fill(answer)
        exercise.locator("input[name=answer]").press("Enter")
    assert exercise.locator(".attempts li").count() > 0
    exercise.locator("summary").first.click()
    assert found(page, f"#{exercise.get_attribute('id')}") == []
    page.locator(".predict input").first.check()
    page.locator(".predict summary").first.click()
    assert found(page, ".predict") == []


def test_nothing_moves_where_less_motion_is_asked_for(open_page):
    page = open_page("book/residuals")
    page.evaluate(UNFOLD)
    assert page.evaluate("document.getAnimations().length") == 0


def test_the_buttons_of_a_page_show_that_they_have_the_focus(open_page):
    page = open_page(SOME, viewport={"width": 1200, "height": 900})
    page.locator(".header-article__inner button").first.focus()
    ringless = []
    for _ in range(4):
        page.keyboard.press("Tab")
        ringless += page.evaluate(
            "[document.activeElement].filter(e => getComputedStyle(e).outlineStyle === 'none').map(e => e.outerHTML)"
        )
    assert ringless == []
