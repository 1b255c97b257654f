"""The catalogue of exercises: book/exercises.yml, with the answers that people give and what each of them means."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transformer_anatomy.page.claims.bands import Band, band
from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.entries import find, read_entries, read_once, text

REQUIRED = ("id", "chapter", "title", "difficulty", "minutes", "answer", "right", "wrong", "otherwise")
OPTIONAL = ("within", "choices", "inputs")


@dataclass(frozen=True)
class Outcome:
    """Answers that amount to the same, a band of numbers, a choice or arrays, and the words that they get."""

    words: str
    expected: Band | str | tuple[np.ndarray, ...]
    within: float = 0.0

    def matches(self, answer: Any) -> bool:
        """Whether `answer`, in the form of `expected`, is one of them."""
        if isinstance(self.expected, Band):
            return answer in self.expected
        if isinstance(self.expected, str):
            return answer == self.expected
        pairs = zip(answer, self.expected, strict=True)
        return all(a.shape == e.shape and np.all(np.abs(a - e) <= self.within) for a, e in pairs)


@dataclass(frozen=True)
class Exercise:
    """One exercise; `kind` is number, choice, array or function (tried on `inputs`)."""

    id: str
    chapter: str
    title: str
    difficulty: int
    minutes: int
    kind: str
    right: Outcome
    wrong: tuple[Outcome, ...]
    otherwise: str
    choices: tuple[str, ...] = ()
    inputs: tuple[Any, ...] = ()


def exercise(identifier: str) -> Exercise:
    """The exercise of that id in the catalogue of the chapter that runs; raises ValueError with the nearest ids."""
    return find(identifier, read_catalogue(), "exercises.yml")


def read_catalogue(path: Path | None = None) -> dict[str, Exercise]:
    """Id to Exercise, in the order of the file; read again only when the file changed.

    Raises ValueError or TypeError that names the entry and the key, FileNotFoundError without a file.
    """
    return read_once(path or course_file("exercises.yml"), _read)


def _read(path: Path) -> dict[str, Exercise]:
    entries = read_entries(path, required=REQUIRED, optional=OPTIONAL)
    return {entry["id"]: _exercise(where, entry) for where, entry in entries}


def _exercise(where: str, entry: dict[str, Any]) -> Exercise:
    words = {key: text(where, key, entry[key]) for key in ("id", "chapter", "title", "otherwise")}
    for key, accepted in (("difficulty", range(1, 4)), ("minutes", range(1, 121))):
        if entry[key] not in accepted:
            raise ValueError(f"{where}: {key} must be {accepted[0]} to {accepted[-1]}, got {entry[key]!r}")
    answer, choices, inputs = entry["answer"], entry.get("choices", []), entry.get("inputs", [])
    kind = "choice" if choices else "function" if inputs else "array" if isinstance(answer, list) else "number"
    if kind == "choice" and len(set(choices)) < max(2, len(choices)):
        raise ValueError(f"{where}: choices must be two or more different texts, got {choices!r}")
    if kind == "function" and (not isinstance(answer, list) or len(answer) != len(inputs)):
        raise ValueError(f"{where}: answer must list one output for each of the {len(inputs)} inputs")
    if not isinstance(entry["wrong"], list) or not entry["wrong"]:
        raise ValueError(f"{where}: wrong must list at least one answer and what it means, got {entry['wrong']!r}")
    right = _outcome(f"{where}: answer", kind, entry["right"], answer, entry.get("within"), choices)
    wrong = []
    for place, case in enumerate(entry["wrong"], start=1):
        made = _wrong(f"{where}: wrong, case {place}", kind, case, entry.get("within"), choices)
        if any(made.matches(sample) for sample in samples(right)):
            raise ValueError(f"{where}: wrong, case {place} would also catch the right answer")
        wrong.append(made)
    return Exercise(
        **words, difficulty=entry["difficulty"], minutes=entry["minutes"], kind=kind, right=right, wrong=tuple(wrong),
        choices=tuple(choices), inputs=tuple(inputs),
    )  # fmt: skip


def _wrong(where: str, kind: str, case: Any, within: float | None, choices: list[str]) -> Outcome:
    if not isinstance(case, dict) or "because" not in case:
        raise TypeError(f"{where} must be a mapping with 'because', got {case!r}")
    case = dict(case)
    because = case.pop("because")
    if "answer" in case:
        answer, within = case.pop("answer"), case.pop("within", within)
        if case:
            raise ValueError(f"{where} has {sorted(case)}; beside answer it takes within and because")
        return _outcome(where, kind, because, answer, within, choices)
    made = band(where, case) if kind == "number" else None
    if made is None:
        raise ValueError(f"{where} lacks 'answer'" + (", or above, below or between" if kind == "number" else ""))
    return Outcome(text(where, "because", because), made)


def _outcome(where: str, kind: str, words: str, answer: Any, within: float | None, choices: list[str]) -> Outcome:
    words = text(where, "its words", words)
    if kind == "number":
        # A typed decimal stands for what rounds to it; a whole number for itself.
        within = within if within is not None else 1e-6 if isinstance(answer, int) else 0.005
        return Outcome(words, band(where, {"near": answer, "within": within}))
    if kind == "choice":
        if answer not in choices:
            raise ValueError(f"{where} must be one of {choices}, got {answer!r}")
        return Outcome(words, answer)
    answers = answer if kind == "function" else [answer]
    arrays = tuple(np.asarray(output, dtype=float) for output in answers)
    return Outcome(words, arrays, 1e-4 if within is None else within)


def samples(outcome: Outcome) -> list[Any]:
    """Answers that have this outcome, in its form."""
    if not isinstance(outcome.expected, Band):
        return [outcome.expected]
    low, high = outcome.expected.low, outcome.expected.high
    values = (low, high, (low + high) / 2, low + 1, high - 1, low + 0.01, high - 0.01)
    return [value for value in values if value in outcome.expected and np.isfinite(value)]
