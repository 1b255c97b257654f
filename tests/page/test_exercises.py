import html
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from transformer_anatomy.page.claims.icons import ICONS
from transformer_anatomy.page.exercises import check
from transformer_anatomy.page.exercises.catalogue import read_catalogue, samples
from transformer_anatomy.page.exercises.diagnosis import Diagnosis, diagnose

BASE = {"chapter": "softmax_decay", "title": "turn", "difficulty": 2, "minutes": 5, "otherwise": "Think again."}
NUMBER = BASE | {
    "id": "number",
    "answer": 0.436,
    "within": 0.006,
    "right": "Yes, 0.436.",
    "wrong": [
        {"answer": 2.29, "within": 0.02, "because": "The inverse."},
        {"answer": 0.455, "because": "The third key."},
        {"below": 0, "because": "Above 0, please."},
    ],
}
CHOICE = BASE | {
    "id": "choice",
    "choices": ["keys", "queries", "values"],
    "answer": "keys",
    "right": "Yes, keys.",
    "wrong": [{"answer": "queries", "because": "Down, not across."}],
}
ARRAY = BASE | {
    "id": "array",
    "answer": [[0.5, 0.5], [1, 0]],
    "right": "Yes, the rows.",
    "wrong": [
        {"answer": [[0.5, 1], [0.5, 0]], "because": "Transposed."},
        {"answer": [1, 1], "because": "That is the sum over the keys."},
    ],
}
FUNCTION = BASE | {
    "id": "function",
    "inputs": [[[1, 2]], [[[1.0], [3.0]], 2]],
    "answer": [3, [8]],
    "right": "Yes, the sum.",
    "wrong": [{"answer": [2, [6]], "because": "The maximum."}],
}


@pytest.fixture
def catalogue(course):
    """Four exercises, one of each kind, or the ones given."""

    def write(*entries):
        course("exercises.yml", list(entries))

    write(NUMBER, CHOICE, ARRAY, FUNCTION)
    return write


def said(shown, identifier, answer):
    with shown() as output:
        check(identifier, answer)
    assert len(output.outputs) == 1
    return output.outputs[0].data["text/plain"]


def total(values, factor=1):
    return factor * values.sum(0)


def largest(values, factor=1):
    return factor * values.max(0).values


@pytest.mark.parametrize(
    ("identifier", "answer", "words"),
    [
        ("number", 0.436, "Right. Yes, 0.436."),
        ("number", 0.44, "Right. Yes, 0.436."),
        ("number", 0.443, "Not yet. Think again."),
        ("number", 2.3, "Not yet. The inverse."),
        ("number", 0.455, "Not yet. The third key."),
        ("number", -3, "Not yet. Above 0, please."),
        ("number", 0, "Not yet. Think again."),
        ("number", torch.tensor([0.436]), "Right. Yes, 0.436."),
        ("number", np.float32(0.436), "Right. Yes, 0.436."),
        ("choice", "keys", "Right. Yes, keys."),
        ("choice", " Keys ", "Right. Yes, keys."),
        ("choice", "queries", "Not yet. Down, not across."),
        ("choice", "values", "Not yet. Think again."),
        ("array", [[0.5, 0.5], [1, 0]], "Right. Yes, the rows."),
        ("array", torch.tensor([[0.5, 0.50005], [1, 0]]), "Right. Yes, the rows."),
        ("array", np.array([[0.5, 1], [0.5, 0]]), "Not yet. Transposed."),
        ("array", [1, 1], "Not yet. That is the sum over the keys."),
        ("array", [[0, 0], [0, 0]], "Not yet. Think again."),
        ("function", total, "Right. Yes, the sum."),
        ("function", largest, "Not yet. The maximum."),
        ("function", lambda values, factor=1: values[0], "Not yet. Think again."),
    ],
)
def test_right_answers_are_right_and_wrong_ones_get_their_diagnosis(catalogue, shown, identifier, answer, words):
    assert said(shown, identifier, answer) == words


class Mute(Exception):
    """Nothing can be said about it."""

    def __str__(self):
        raise RuntimeError


def fail_mutely(*_):
    raise Mute


@pytest.mark.parametrize(
    ("identifier", "answer", "words"),
    [
        ("number", float("nan"), "holds a NaN"),
        ("number", np.complex128(0.436 + 5j), "this is a complex128"),
        ("number", torch.tensor(0.436 + 5j), "this is a Tensor"),
        ("choice", Mute(), "Choose one of"),
        ("function", fail_mutely, r"your function raised Mute$"),
        ("function", lambda *_: sys.exit(2), "your function raised SystemExit: 2"),
        ("function", lambda *_: 3j, "should return numbers; this is a complex"),
        ("number", float("inf"), "Think again"),
        ("number", "0.436", "this is a str"),
        ("number", True, "this is a bool"),
        ("number", [1, 2], r"this has shape \(2,\)"),
        ("number", object(), "this is an object"),
        ("number", {}, "this is a dict"),
        ("number", 1j, "this is a complex"),
        ("choice", "heads", "Choose one of “keys”, “queries”, “values”"),
        ("choice", 3, "Choose one of"),
        ("choice", float("nan"), "Choose one of"),
        ("array", [[0.5, 0.5]], r"Your answer has shape \(1, 2\); asked for is shape \(2, 2\)"),
        ("array", 1.0, "no axes: a single number"),
        ("array", [[float("nan"), 0], [0, 0]], "holds a NaN"),
        ("array", [[1], [1, 2]], "this is a list"),
        ("array", "rows", "this is a str"),
        ("function", 3, "A function is asked for, this is an int"),
        ("function", lambda *_: 1 / 0, r"Given \[1, 2\], your function raised ZeroDivisionError"),
        ("function", lambda *_: None, "should return numbers; this is None"),
        ("function", lambda *_: float("nan"), "holds a NaN"),
        ("function", lambda: 1, "your function raised TypeError"),
        ("function", lambda values, factor=1: values, r"Given \[1, 2\], your answer has shape \(2,\)"),
    ],
)
def test_whatever_comes_gets_words_and_never_a_traceback(catalogue, shown, identifier, answer, words):
    text = said(shown, identifier, answer)
    assert text.startswith("Not yet. ") and re.search(words, text)


@pytest.mark.parametrize("identifier", ["number", "choice", "array", "function"])
def test_no_answer_yet_is_an_invitation(catalogue, shown, identifier):
    assert said(shown, identifier, None) == "Put your answer in place of None and run the cell."


def test_an_attempt_shows_icon_word_and_diagnosis(catalogue, shown):
    for answer, icon, word in ((0.436, "holds", "Right."), (2.29, "not yet", "Not yet.")):
        with shown() as output:
            check("number", answer)
        page = output.outputs[0].data["text/html"]
        assert ICONS[icon] in page and f"<b>{word}</b>" in page
        assert 'aria-label="difficulty 2 of 3">●●○</span>' in page and "5 min" in page


def test_outside_the_book_the_page_does_not_hold_the_answers(catalogue, shown):
    with shown() as output:
        check("number")
    assert "The inverse" not in output.outputs[0].data["text/html"]


@pytest.mark.parametrize(
    ("identifier", "form"), [("number", True), ("choice", True), ("array", False), ("function", False)]
)
def test_in_the_book_numbers_and_choices_get_a_form_and_the_rest_is_sent_to_jupyterlab(
    catalogue, shown, monkeypatch, identifier, form
):
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    with shown() as output:
        check(identifier)
    page = output.outputs[0].data["text/html"]
    assert ("<form" in page) == form and ("Run this chapter in JupyterLab" in page) != form
    assert not form or " hidden>" in page  # until the script that answers is there
    public = json.loads(html.unescape(re.search(r'data-exercise="([^"]*)"', page)[1]))
    assert public["title"] == "turn" and ("outcomes" in public) == form
    assert "<style>" not in page


def test_an_unknown_exercise_is_answered_with_the_nearest(catalogue):
    with pytest.raises(ValueError, match=r"identifier 'numbers' is not in exercises\.yml; near to it: number"):
        check("numbers", 1)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (NUMBER | {"difficulty": 4}, r"entry 1 \(number\): difficulty must be 1 to 3"),
        (NUMBER | {"minutes": 0}, r"\(number\): minutes must be 1 to 120"),
        (NUMBER | {"minutes": "five"}, r"\(number\): minutes must be 1 to 120"),
        (NUMBER | {"title": 3}, r"\(number\): title must be text"),
        (NUMBER | {"hint": "x"}, r"\(number\) has 'hint'; accepted are id"),
        (BASE | {"id": "bare"}, r"\(bare\) lacks 'answer'"),
        (NUMBER | {"wrong": []}, r"\(number\): wrong must list at least one"),
        (NUMBER | {"wrong": ["no"]}, "wrong, case 1 must be a mapping with 'because'"),
        (NUMBER | {"wrong": [{"because": "x"}]}, "wrong, case 1 lacks 'answer', or above"),
        (NUMBER | {"wrong": [{"answer": 1, "below": 2, "because": "x"}]}, r"case 1 has \['below'\]"),
        (NUMBER | {"wrong": [{"answer": 0.44, "because": "x"}]}, "case 1 would also catch the right answer"),
        (NUMBER | {"wrong": [{"above": 0, "because": "x"}]}, "case 1 would also catch the right answer"),
        (NUMBER | {"answer": "a"}, r"\(number\): answer.near must be a finite number"),
        (NUMBER | {"right": ""}, "its words must be text"),
        (CHOICE | {"answer": "heads"}, r"\(choice\): answer must be one of"),
        (CHOICE | {"choices": ["keys"]}, r"\(choice\): choices must be two or more"),
        (CHOICE | {"wrong": [{"above": 1, "because": "x"}]}, "case 1 lacks 'answer'"),
        (FUNCTION | {"answer": [3]}, r"\(function\): answer must list one output for each of the 2 inputs"),
        (ARRAY | {"wrong": [{"answer": [[0.5, 0.5], [1, 0]], "because": "x"}]}, "would also catch the right answer"),
    ],
)
def test_a_slip_in_the_catalogue_is_reported_with_entry_and_key(catalogue, entry, words):
    catalogue(entry)
    with pytest.raises((ValueError, TypeError), match=words):
        read_catalogue()


# The catalogue of the course

ROOT = Path(__file__).parents[2]
COURSE = read_catalogue(ROOT / "book" / "exercises.yml")


ENTRIES = {entry["id"]: entry for entry in yaml.safe_load((ROOT / "book" / "exercises.yml").read_text())}
WRONG = [(name, case) for name, entry in ENTRIES.items() for case in entry["wrong"]]


def test_the_course_has_every_entry_of_its_catalogue():
    assert list(COURSE) == list(ENTRIES)
    assert [len(asked.wrong) for asked in COURSE.values()] == [len(entry["wrong"]) for entry in ENTRIES.values()]


@pytest.mark.parametrize("name", COURSE)
def test_the_right_answer_of_each_exercise_is_right_in_its_own_words(name):
    asked, entry = COURSE[name], ENTRIES[name]
    typed = [entry["answer"]] if asked.kind in ("array", "choice", "number") else []
    for answer in (*typed, *(answering(asked, answer) for answer in samples(asked.right))):
        assert diagnose(asked, answer) == Diagnosis(True, entry["right"].strip())
    assert not diagnose(asked, None).right and not diagnose(asked, float("nan")).right


@pytest.mark.parametrize(("name", "case"), WRONG, ids=[f"{name}-{case.get('answer', 'range')}" for name, case in WRONG])
def test_each_wrong_answer_of_each_exercise_gets_its_own_diagnosis(name, case):
    asked, entry = COURSE[name], ENTRIES[name]
    words = [asked.right.words, *(outcome.words for outcome in asked.wrong), asked.otherwise]
    assert words.count(case["because"].strip()) == 1  # else it could be another's
    if "answer" in case:
        answers = [case["answer"]]
        if asked.kind == "function":
            answers = [answering(asked, [np.asarray(output, dtype=float) for output in case["answer"]])]
        assert [diagnose(asked, answer) for answer in answers] == [Diagnosis(False, case["because"].strip())]
    else:  # a range, of which other cases may have taken a part
        outcome = asked.wrong[entry["wrong"].index(case)]
        said = [diagnose(asked, answer) for answer in samples(outcome)]
        assert Diagnosis(False, case["because"].strip()) in said and not any(diagnosis.right for diagnosis in said)


@pytest.mark.parametrize("name", COURSE)
def test_no_answer_that_a_wrong_case_catches_is_right(name):
    asked = COURSE[name]
    for outcome in asked.wrong:
        answers = samples(outcome)
        assert answers and not any(diagnose(asked, answering(asked, answer)).right for answer in answers)


def answering(asked, answer):
    """The answer as a learner would hand it in: for a function exercise, a function with these outputs."""
    if asked.kind == "array":
        return answer[0]
    if asked.kind != "function":
        return answer
    outputs = iter(answer)
    return lambda *_: torch.tensor(next(outputs))
