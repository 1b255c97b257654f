"""The ledger and the chapters agree: nothing is claimed unchecked, nothing is checked unclaimed."""

import ast
import re
from collections import Counter

import yaml

from tests.chapters import ROOT, chapters

STATEMENTS = yaml.safe_load((ROOT / "book" / "claims.yml").read_text())
EXERCISES = yaml.safe_load((ROOT / "book" / "exercises.yml").read_text())

# The sections of the documents that the chapters cover, and how many statements each makes.
COVERED = {
    ("000", "2.1.1"): 5, ("000", "2.1.2"): 2, ("000", "2.2.1"): 6, ("000", "2.2.2"): 4, ("000", "2.3"): 3,
    ("000", "3.1"): 4, ("000", "3.3"): 6, ("000", "3.4"): 3, ("000", "3.5"): 4, ("000", "5.2"): 7, ("000", "5.3"): 7,
    ("000", "6.1"): 3, ("000", "6.2"): 7, ("000", "6.3"): 12, ("000", "6.4"): 6, ("000", "6.5"): 9,
    ("000", "6.6"): 1,
    ("001", "2.1"): 1, ("001", "2.1.1"): 3, ("001", "2.1.2"): 4, ("001", "2.3"): 1, ("001", "2.3.1"): 2,
    ("001", "2.3.2"): 7, ("001", "3"): 1, ("001", "3.1"): 3, ("001", "3.2"): 2, ("001", "3.3"): 3, ("001", "4.3"): 2,
    ("002", "Residuals 1"): 4, ("002", "Residuals 2"): 2, ("002", "Residuals 3"): 3, ("002", "Residuals 4"): 3,
    ("002", "Residuals 5"): 2, ("002", "Normalisation 1"): 2, ("002", "Normalisation 2"): 3,
    ("002", "Normalisation 3"): 3, ("002", "Normalisation 4"): 3, ("002", "Normalisation 5"): 1,
    ("002", "Encoder stack 1"): 3, ("002", "Encoder stack 2"): 2, ("002", "Encoder stack 4"): 1,
    ("002", "Positions 1"): 1, ("002", "Positions 2"): 2,
    ("004", "3"): 1, ("004", "3.3"): 2, ("004", "3.4"): 2, ("004", "3.5"): 1, ("004", "4.1"): 1, ("004", "4.2"): 1,
    ("004", "4.3"): 3, ("004", "5"): 1, ("004", "9.2"): 1,
}  # fmt: skip


def test_every_covered_section_is_in_the_ledger():
    found = Counter((entry["document"], entry["section"]) for entry in STATEMENTS)
    assert {section: found[section] for section in COVERED} == COVERED


def test_every_checkable_statement_is_checked_once_by_its_chapter(chapter):
    to_check = [e["id"] for e in STATEMENTS if e["chapter"] == chapter.path.stem and "unchecked" not in e]
    assert Counter(chapter.first_arguments("claim")) == Counter(to_check)


def test_every_statement_belongs_to_a_chapter_of_the_book():
    names = {chapter.path.stem for chapter in chapters()}
    assert [entry["id"] for entry in STATEMENTS if entry["chapter"] not in names] == []


def test_a_correction_says_what_is_right(chapter):
    """Outside the document's band lies almost everything: a slip or a contradiction also states where it was found."""
    corrected = {entry["id"] for entry in STATEMENTS if entry["verdict"] in {"slip", "contradicted"}}
    stated = {"near", "above", "below", "between"}
    vague = [call for call in chapter.calls("claim") if not stated & {keyword.arg for keyword in call.keywords}]
    assert corrected & {ast.literal_eval(call.args[0]) for call in vague} == set()


def test_an_unchecked_statement_names_its_reason_and_its_source():
    for entry in STATEMENTS:
        if "unchecked" in entry:
            assert entry["kind"] in {"literature", "analogy", "pretrained"}, entry["id"]
            assert entry["unchecked"].strip(), entry["id"]
            assert entry.get("sources") or entry["verdict"] in {"opinion", "unsupported"}, entry["id"]


def test_every_exercise_is_in_its_chapter_once(chapter):
    listed = [exercise["id"] for exercise in EXERCISES if exercise["chapter"] == chapter.path.stem]
    assert Counter(chapter.first_arguments("check")) == Counter(listed)


def test_every_exercise_has_a_folded_solution(chapter):
    exercises = re.findall(r"(?m)^### Exercise: .+$", chapter.prose)
    solutions = re.findall(r"`{4}\{dropdown\} Solution\n", chapter.prose)
    assert len(exercises) == len(solutions) >= 4


def test_numbers_that_are_measured_are_not_typed_into_prose(page):
    """A decimal in prose is a setting, hand arithmetic that the code has too, or a cited figure."""
    story = page.prose.partition("## Exercises")[0]
    uncited = "\n\n".join(part for part in story.split("\n\n") if "{cite:" not in part)
    prose = re.sub(r"(?s)\$\$.*?\$\$|\$[^$]*\$|`[^`]*`|<[^>]+>|\]\([^)]*\)", " ", uncited)
    typed = set(re.findall(r"(?<![\w.§])\d+\.\d{2,}(?![\w.])", prose))
    assert {number for number in typed if number not in page.code} == set()
