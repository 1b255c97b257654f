"""The page of exercises, and what the built book does not remember."""

import pytest
import yaml

from tests.chapters import ROOT, chapters

EXERCISES = yaml.safe_load((ROOT / "book" / "exercises.yml").read_text())
CHAPTERS = [chapter.path.stem for chapter in chapters()]

# Everything that a page can leave in a browser, but for its caches.
KEPT = (
    """async () => [{ ...localStorage }, { ...sessionStorage }, document.cookie, await indexedDB.databases(), name]"""
)


@pytest.fixture
def listed(visit, built):
    """The page of exercises, open."""
    return visit(f"{built.as_uri()}/book/exercises.html").page


def test_the_page_lists_every_exercise_by_chapter_in_the_order_of_the_book(listed):
    groups = listed.locator(".exercises tbody").all()
    assert len(groups) == len(CHAPTERS)
    for group, chapter in zip(groups, chapters(), strict=True):
        asked = [exercise for exercise in EXERCISES if exercise["chapter"] == chapter.path.stem]
        head, *rows = (" ".join(row.split()) for row in group.locator("tr").all_inner_texts())
        title = chapter.notebook.cells[0].source.partition("\n")[0].removeprefix("# ")
        assert head == f"{title} {len(asked)} exercises {sum(exercise['minutes'] for exercise in asked)}"
        for row, exercise in zip(rows, asked, strict=True):
            dots = "●" * exercise["difficulty"] + "○" * (3 - exercise["difficulty"])
            assert row.casefold().startswith(exercise["title"].casefold())
            assert row.endswith(f" {dots} {exercise['minutes']}")


def test_each_link_leads_to_the_panel_of_its_exercise(listed):
    links = listed.locator(".exercises th[scope=row] a")
    addresses = links.evaluate_all("links => links.map(link => link.href)")
    for exercise, address in zip(EXERCISES, addresses, strict=True):
        if not listed.url.startswith(address.partition("#")[0]):
            listed.goto(address, wait_until="domcontentloaded")
        panel = listed.locator(f"section.exercise:has([id='{address.partition('#')[2]}'])")
        assert panel.locator("h3").inner_text().rstrip("#").endswith(exercise["title"])
        assert panel.locator(f""".check[data-exercise*='"id": "{exercise["id"]}"']""").count() == 1


def test_the_built_book_keeps_nothing_of_an_answer(visit, built, serve):
    page = visit(f"{serve(built)}/book/softmax_decay.html").page
    before, attempts = page.evaluate(KEPT), page.locator(".attempts li")
    form = page.locator("form:has(input[name=answer])").first
    form.locator("input[name=answer]").fill("7")
    form.locator("input[name=answer]").press("Enter")
    assert attempts.count() == 1
    assert page.evaluate(KEPT) == before and page.context.cookies() == []
    page.reload()
    assert attempts.count() == 0
    page.goto(page.url.replace("softmax_decay", "exercises"))
    assert "tried" not in page.locator(".exercises").inner_text()


def test_the_page_says_that_nothing_is_remembered(listed):
    assert "The pages of the book keep nothing of what you answer" in listed.locator("main").inner_text()
