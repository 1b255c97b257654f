"""The front page says of the chapters what they say of themselves, and its minutes add up."""

import re

import pytest
import yaml

from tests.chapters import ROOT, Chapter, chapters

FRONT = Chapter(ROOT / "book" / "index.ipynb")
PARTS = yaml.safe_load((ROOT / "_toc.yml").read_text())["parts"]
EXERCISES = yaml.safe_load((ROOT / "book" / "exercises.yml").read_text())
TIMED = {"to read": r"<li>(\d+ min) to read</li>", "to run": r"<li>(\d+ (?:s|min)) to run</li>"}
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def strip(file: str) -> tuple[str, ...]:
    """Title, minutes to read and time to run, as a notebook's own head has them."""
    head = Chapter(ROOT / "book" / file).notebook.cells[0].source
    title = re.match(r"# (.+)", head)[1]
    return title, *(re.search(pattern, head)[1] for pattern in TIMED.values())


def rows(section: str) -> list[list[str]]:
    """The cells of the table in the section with that label, without its head."""
    (text,) = [cell.source for cell in FRONT.notebook.cells if cell.source.startswith(f"({section})=")]
    lines = [line for line in text.replace("&nbsp;", " ").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_map_lists_every_chapter_by_part_with_its_title_and_times():
    listed, part = [], ""
    for caption, chapter, _, *times in rows("index-map"):
        ((title, file),) = LINK.findall(chapter)
        part = caption or part
        listed.append((part, file, title, *times))
    files = {chapter.path.name for chapter in chapters()}
    entries = [(part["caption"], f"{entry['file'][5:]}.ipynb") for part in PARTS for entry in part["chapters"]]
    assert listed == [(part, file, *strip(file)) for part, file in entries if file in files]


def test_every_chapter_on_the_map_asks():
    assert [row for row in rows("index-map") if not row[2].endswith("?")] == []


@pytest.mark.parametrize("way", rows("index-ways"), ids=["an hour", "a weekend", "all of it"])
def test_the_minutes_of_a_way_add_up_and_are_those_of_the_chapters(way):
    _, path, together = way
    assert sum(map(int, re.findall(r"(?<=\s)\d+\b", path))) == int(together.removesuffix(" min"))
    for file, minutes in re.findall(r"\]\((\w+\.ipynb)\) (\d+)", path):
        assert f"{minutes} min" == strip(file)[1], file


def test_the_weekend_has_every_chapter_and_all_of_it_every_exercise():
    _, (_, weekend, minutes), (_, everything, _) = rows("index-ways")
    assert set(re.findall(r"\((\w+\.ipynb)\) \d", weekend)) == {chapter.path.name for chapter in chapters()}
    hard = sum(exercise["minutes"] for exercise in EXERCISES if exercise["difficulty"] == 3)
    rest = sum(exercise["minutes"] for exercise in EXERCISES) - hard
    assert f"one or two dots {rest}" in weekend and f"three dots {hard}" in everything
    assert f"the weekend {minutes.removesuffix(' min')}," in everything


def test_the_number_of_conventions_is_that_of_their_page():
    assert "fourteen habits" in FRONT.prose and "Fourteen habits" in Chapter(ROOT / "book" / "conventions.ipynb").prose
