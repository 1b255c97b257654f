"""The list of exercises, and what a session remembers of them."""

import html
import json
import re

import pytest

from transformer_anatomy.page.exercises import check
from transformer_anatomy.page.exercises.listing import chapter_title, exercise_table, headings
from transformer_anatomy.page.exercises.session import forget

NUMBER = {
    "chapter": "softmax_decay", "title": "a third & more", "difficulty": 1, "minutes": 3, "answer": 0.333,
    "right": "Yes.", "wrong": [{"answer": 3, "because": "The inverse."}], "otherwise": "Hm.",
}  # fmt: skip
FUNCTION = NUMBER | {
    "id": "twice",
    "title": "a function",
    "difficulty": 3,
    "minutes": 8,
    "inputs": [[1]],
    "answer": [2],
}
EXERCISES = [
    NUMBER | {"id": "third"},
    FUNCTION | {"wrong": [{"answer": [1], "because": "Once."}]},
    NUMBER | {"id": "other", "chapter": "residuals", "title": "another", "minutes": 20},
]


@pytest.fixture(autouse=True)
def course_of_two_chapters(course, tmp_path):
    """One chapter with a heading, one without a notebook; nothing answered yet."""
    course("exercises.yml", EXERCISES)
    cells = [{"id": "head", "source": ["# Softmax: differences\n", "\n", "More."]}, {"id": "code", "source": "1 + 1"}]
    cells.append({"id": "ex-third", "source": ["### Exercise: a third & more\n", "\n", "How much?"]})
    (tmp_path / "book" / "softmax_decay.ipynb").write_text(json.dumps({"cells": cells}))
    forget()
    yield
    forget()


def answer(shown, identifier, *answers):
    with shown():
        for one in answers:
            check(identifier, one)


def rows(table):
    """The text of each row."""
    found = re.findall(r"<tr>(.*?)</tr>", table._repr_html_(), re.S)
    return [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in found]


def test_exercises_stand_by_chapter_with_difficulty_minutes_and_totals():
    assert rows(exercise_table()) == [
        "Exercise Difficulty Minutes This session",
        "Softmax: differences 2 exercises 11 0 of 2 solved",
        "A third & more ●○○ 3 not tried",
        "A function ●●● 8 not tried",
        "residuals 1 exercise 20 0 of 1 solved",
        "Another ●○○ 20 not tried",
    ]
    assert "<caption>3 exercises, 31 minutes; 0 of 3 solved in this session</caption>" in exercise_table()._repr_html_()


def test_one_chapter_can_be_asked_for():
    assert rows(exercise_table("residuals"))[1:] == [
        "residuals 1 exercise 20 0 of 1 solved",
        "Another ●○○ 20 not tried",
    ]


@pytest.mark.parametrize("chapter", ["softmax", ""])
def test_a_chapter_without_exercises_is_refused_with_those_that_have_some(chapter):
    with pytest.raises(ValueError, match=r"chapter must be one of softmax_decay, residuals, or None .* got "):
        exercise_table(chapter)


@pytest.mark.parametrize(
    ("answers", "state"),
    [
        ([None], "not tried"),
        ([3], "tried once"),
        ([3, 4], "tried 2 times"),
        (["a word", 3, float("nan")], "tried 3 times"),
        ([0.333], "solved at once"),
        ([3, None, 0.333], "solved after 2 tries"),
        ([3, 0.333, 3, 0.333], "solved after 2 tries"),
    ],
)
def test_a_session_remembers_what_was_tried_until_it_was_solved(shown, answers, state):
    answer(shown, "third", *answers)
    assert rows(exercise_table())[2] == f"A third & more ●○○ 3 {state}"
    assert repr(exercise_table("softmax_decay")).splitlines()[1] == f"  a third & more: 3 min, {state}"


def test_each_exercise_has_a_state_of_its_own_and_the_totals_follow(shown):
    answer(shown, "third", 0.333)
    answer(shown, "other", 3)
    softmax, residuals = (row for row in rows(exercise_table()) if "solved" in row and "exercise" in row)
    assert softmax.endswith("1 of 2 solved") and residuals.endswith("0 of 1 solved")
    assert "1 of 3 solved in this session" in exercise_table()._repr_html_()


def test_a_table_shows_what_was_answered_by_the_time_it_is_shown(shown):
    table = exercise_table()
    answer(shown, "third", 3)
    assert rows(table)[2].endswith("tried once")


def test_nothing_is_written_to_disk(shown, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    answer(shown, "third", 3, 0.333)
    exercise_table()._repr_html_()
    assert sorted(tmp_path.rglob("*")) == before


def test_links_lead_to_the_exercise_in_the_notebook_and_in_the_book(monkeypatch):
    links = re.findall(r'href="([^"]*)"', exercise_table("softmax_decay")._repr_html_())
    assert links[:2] == ["softmax_decay.ipynb", "softmax_decay.ipynb#cell-id=ex-third"]
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    links = re.findall(r'href="([^"]*)"', exercise_table("softmax_decay")._repr_html_())
    assert links[:2] == ["softmax_decay.html", "softmax_decay.html#exercise-third"]


def test_the_book_has_no_state_and_says_which_exercises_need_a_kernel(shown, monkeypatch):
    answer(shown, "third", 3)
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert rows(exercise_table("softmax_decay")) == [
        "Exercise Difficulty Minutes",
        "Softmax: differences 2 exercises 11",
        "A third & more ●○○ 3",
        "A function in JupyterLab ●●● 8",
    ]
    assert "session" not in exercise_table()._repr_html_() and "<style>" not in exercise_table()._repr_html_()


def test_a_chapter_is_called_by_its_heading_or_else_by_its_name(tmp_path):
    heads = headings(tmp_path / "book" / "softmax_decay.ipynb")
    assert heads == {"head": "# Softmax: differences", "ex-third": "### Exercise: a third & more"}
    assert chapter_title("softmax_decay", heads) == "Softmax: differences"
    assert headings(tmp_path / "book" / "residuals.ipynb") == {} and chapter_title("residuals", {}) == "residuals"
