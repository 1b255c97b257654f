"""exercise_table: the exercises of the course in one list, with what this session has seen of them."""

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.course import building_book, course_file
from transformer_anatomy.page.exercises import difficulty_dots
from transformer_anatomy.page.exercises.catalogue import Exercise, read_catalogue
from transformer_anatomy.page.exercises.session import progress
from transformer_anatomy.page.typography import marked


def exercise_table(chapter: str | None = None) -> "ExerciseTable":
    """The exercises of all chapters, or of one, with difficulty, minutes, and in a running notebook what was answered.

    `check` counts each answer in the memory of the kernel, so every notebook knows its own. Nothing is written
    anywhere: a restarted kernel has forgotten. Raises ValueError for a chapter that has no exercises.
    """
    file = course_file("exercises.yml")
    chapters: dict[str, list[Exercise]] = {}
    for exercise in read_catalogue(file).values():
        chapters.setdefault(exercise.chapter, []).append(exercise)
    if chapter not in (None, *chapters):
        raise ValueError(f"chapter must be one of {', '.join(chapters)}, or None for all of them; got {chapter!r}")
    chosen = {name: exercises for name, exercises in chapters.items() if chapter in (None, name)}
    return ExerciseTable(chosen, {name: headings(file.with_name(f"{name}.ipynb")) for name in chosen})


def headings(notebook: Path) -> dict[str, str]:
    """Id of each cell that begins with a heading to that heading's line; empty where there is no such notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"] if notebook.is_file() else []
    lines = {cell.get("id", ""): "".join(cell["source"]).partition("\n")[0].strip() for cell in cells}
    return {cell: line for cell, line in lines.items() if line.startswith("#")}


def chapter_title(name: str, heads: Mapping[str, str]) -> str:
    """The first of the headings of a chapter, or its name."""
    return next((line.removeprefix("# ") for line in heads.values() if line.startswith("# ")), name)


class ExerciseTable:
    """Exercises by chapter; a notebook displays it. It looks up what was answered when it is shown."""

    def __init__(self, chapters: Mapping[str, Sequence[Exercise]], heads: Mapping[str, Mapping[str, str]]):
        self.chapters, self.heads = chapters, heads
        self.titles = {name: chapter_title(name, heads[name]) for name in chapters}

    def _repr_html_(self) -> str:
        every = [exercise for exercises in self.chapters.values() for exercise in exercises]
        state = "" if building_book() else '<th scope="col">This session</th>'
        markup = (
            f'<div class="exercises anatomy"><table><caption>{_total(every)}</caption><thead><tr>'
            '<th scope="col">Exercise</th><th scope="col">Difficulty</th><th scope="col" class="number">Minutes</th>'
            f"{state}</tr></thead>{''.join(map(self._chapter, self.chapters))}</table></div>"
        )
        return markup if building_book() else f"<style>{asset('tokens.css', 'cards.css', 'table.css')}</style>{markup}"

    def _chapter(self, name: str) -> str:
        exercises, title = self.chapters[name], marked(self.titles[name])
        page = f"{name}.{'html' if building_book() else 'ipynb'}"
        state = "" if building_book() else f"<td>{_solved(exercises)}</td>"
        return (
            f'<tbody><tr><th scope="rowgroup" colspan="2"><a href="{page}">{title}</a> '
            f'<span>{_number(exercises)}</span></th><td class="number">{_minutes(exercises)}</td>{state}</tr>'
            f"{''.join(_row(exercise, page, self.heads[name]) for exercise in exercises)}</tbody>"
        )

    def __repr__(self) -> str:
        lines = []
        for name, exercises in self.chapters.items():
            lines += [self.titles[name], *(f"  {e.title}: {e.minutes} min, {progress(e.id).words}" for e in exercises)]
        return "\n".join(lines)


def _row(asked: Exercise, page: str, heads: Mapping[str, str]) -> str:
    # JupyterLab finds a cell by its id, with or without an extension that renders headings in its own way.
    cell = next((cell for cell, line in heads.items() if line.endswith(f": {asked.title}")), "")
    address = f"{page}#{f'exercise-{asked.id}' if building_book() else f'cell-id={cell}'}"
    link = f'<a href="{html.escape(address)}">{marked(asked.title[0].upper() + asked.title[1:])}</a>'
    where = " <span>in JupyterLab</span>" if building_book() and asked.kind in ("array", "function") else ""
    state = "" if building_book() else f"<td>{_state(asked)}</td>"
    return (
        f'<tr><th scope="row">{link}{where}</th><td>{difficulty_dots(asked.difficulty)}</td>'
        f'<td class="number">{asked.minutes}</td>{state}</tr>'
    )


def _state(asked: Exercise) -> str:
    known = progress(asked.id)
    mark = icon("holds" if known.solved else "not yet") if known.tries else ""
    return f'<span class="state">{mark}{known.words}</span>'


def _solved(exercises: Sequence[Exercise]) -> str:
    return f"{sum(progress(exercise.id).solved for exercise in exercises)} of {len(exercises)} solved"


def _number(exercises: Sequence[Exercise]) -> str:
    return f"{len(exercises)} exercise{'s' if len(exercises) > 1 else ''}"


def _minutes(exercises: Sequence[Exercise]) -> int:
    return sum(exercise.minutes for exercise in exercises)


def _total(exercises: Sequence[Exercise]) -> str:
    total = f"{_number(exercises)}, {_minutes(exercises)} minutes"
    return total if building_book() else f"{total}; {_solved(exercises)} in this session"
