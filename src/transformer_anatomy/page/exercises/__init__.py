"""check: is the answer right, and if not, what does it say about where the thinking went?"""

import html
import json
from typing import Any

from transformer_anatomy.page.assets import styled
from transformer_anatomy.page.claims.bands import Band
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.exercises.catalogue import Exercise, Outcome, exercise
from transformer_anatomy.page.exercises.diagnosis import Diagnosis, diagnose
from transformer_anatomy.page.exercises.session import remember
from transformer_anatomy.page.typography import marked


def check(identifier: str, answer: Any = None) -> None:
    """Shows whether `answer` to the exercise is right, with a diagnosis for each wrong answer in book/exercises.yml.

    None shows an invitation: in JupyterLab to put an answer into the cell, in the built book a form that works without
    a kernel. Tensors, arrays, lists, numbers, texts and functions are read as the exercise asks for; anything else gets
    words, not a traceback. `exercise_table` knows how often was answered in this session. Raises ValueError only for an
    id that the catalogue lacks.
    """
    from IPython.display import display

    asked = exercise(identifier)
    diagnosis = None if answer is None else diagnose(asked, answer)
    if diagnosis is not None:
        remember(asked.id, diagnosis.right)
    display(Attempt(asked, diagnosis))


class Attempt:
    """One exercise with one diagnosis, or with the invitation to answer."""

    def __init__(self, exercise: Exercise, diagnosis: Diagnosis | None):
        self.exercise, self.diagnosis = exercise, diagnosis

    def _repr_html_(self) -> str:
        asked = self.exercise
        body = _invitation(asked) if self.diagnosis is None else ""
        line = "" if self.diagnosis is None else _line(self.diagnosis)
        effort = "" if building_book() else effort_line(asked.difficulty, asked.minutes)
        return styled(
            f'<div class="check anatomy" data-exercise="{html.escape(json.dumps(_public(asked), ensure_ascii=False))}">'
            f'{effort}{body}<ul class="attempts" aria-live="polite">{line}</ul></div>'
        )

    def __repr__(self) -> str:
        if self.diagnosis is None:
            return "Put your answer in place of None and run the cell."
        return f"{'Right' if self.diagnosis.right else 'Not yet'}. {self.diagnosis.words}"


def effort_line(difficulty: int, minutes: int) -> str:
    """Difficulty and minutes."""
    return f'<p class="effort">{difficulty_dots(difficulty)} <span>{minutes} min</span></p>'


def difficulty_dots(difficulty: int) -> str:
    """As many of three dots as the exercise is difficult."""
    dots = "●" * difficulty + "○" * (3 - difficulty)
    return f'<span class="dots" role="img" aria-label="difficulty {difficulty} of 3">{dots}</span>'


def _line(diagnosis: Diagnosis) -> str:
    mark, word = ("holds", "Right.") if diagnosis.right else ("not yet", "Not yet.")
    words = html.escape(diagnosis.words) if diagnosis.literal else marked(diagnosis.words)
    return f"<li>{icon(mark)}<div><b>{word}</b> {words}</div></li>"


def _invitation(asked: Exercise) -> str:
    if not building_book():
        return "<p>Put your answer in place of <code>None</code> and run the cell.</p>"
    if asked.kind in ("array", "function"):
        return "<p>Run this chapter in JupyterLab to have your answer checked.</p>"
    if asked.kind == "number":
        field = (
            '<label>answer = <input name="answer" inputmode="text" autocomplete="off" spellcheck="false" '
            'aria-label="answer"></label>'
        )
        field = f'<div class="code">{field}<br>check("{html.escape(asked.id)}", answer)</div>'
    else:
        radios = "".join(
            f'<label><input type="radio" name="answer" value="{html.escape(choice)}"> '
            f"<span>{marked(choice)}</span></label>"
            for choice in asked.choices
        )
        field = f"<fieldset><legend>answer</legend>{radios}</fieldset>"
    # answers.js unhides the form; without it the cell above is all there is.
    return f'<form class="{asked.kind}" hidden>{field}<button>Check</button></form>'


def _public(asked: Exercise) -> dict[str, Any]:
    """What answers.js needs to say the same as `diagnose`: its rules, with their words as HTML."""
    public = {name: getattr(asked, name) for name in ("id", "title", "difficulty", "minutes", "kind")}
    if asked.kind in ("number", "choice") and building_book():
        outcomes = [asked.right, *asked.wrong]
        public |= {"outcomes": list(map(_rule, outcomes)), "otherwise": marked(asked.otherwise)}
    return public


def _rule(outcome: Outcome) -> dict[str, Any]:
    expected, words = outcome.expected, marked(outcome.words)
    if not isinstance(expected, Band):
        return {"words": words, "choice": expected}
    ends = {
        name: bound for name, bound in (("low", expected.low), ("high", expected.high)) if abs(bound) != float("inf")
    }
    return {"words": words, **ends, "open": expected.open}
