"""Conventions: where implementations differ, one test a row, and the table of the rows that passed."""

import html
import math
import re
from collections.abc import Mapping

from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.numerals import value_text
from transformer_anatomy.page.typography import marked

Value = str | float | Mapping[str, str | float]


class ConventionError(AssertionError):
    """An implementation no longer does what the page says it does."""


class Conventions:
    """A table that grows by `row`: the first column is what a text states, the others are measured.

    Display it to show all its rows. A value is a word, a number, or several of them by the condition under which they
    hold, `{"": "post", "norm_first=True": "pre"}`; the empty condition is the default.
    """

    def __init__(self, stated: str, *measured: str, caption: str):
        if not measured or len({stated, *measured}) <= len(measured):
            raise ValueError(f"columns must be two or more different texts, got {(stated, *measured)!r}")
        self.columns, self.caption = (stated, *measured), caption
        self.rows: dict[str, tuple[str, tuple[Value, ...]]] = {}

    def row(
        self, name: str, *, section: str, stated: Value, measured: Mapping[str, Value], expected: Mapping[str, Value]
    ) -> None:
        """Adds a row and shows it, if `measured` is what is `expected`, numbers to one percent.

        `section` is the id of the heading that the whole table links to. Raises `ConventionError` for a value that is
        not the expected one, and `ValueError` for columns that are not those of the table.
        """
        from IPython.display import display

        for argument, given in (("measured", measured), ("expected", expected)):
            if tuple(given) != self.columns[1:]:
                raise ValueError(f"{argument} must have the columns {self.columns[1:]}, got {tuple(given)}")
        for column, value in measured.items():
            if not _agree(value, expected[column]):
                raise ConventionError(
                    f"{name}, {column}: measured {value!r}, expected {expected[column]!r}. "
                    "Correct the test, or what the page says."
                )
        self.rows[name] = section, (stated, *measured.values())
        display(Table(self, [name]))

    def _repr_html_(self) -> str:
        return Table(self, list(self.rows))._repr_html_()

    def __repr__(self) -> str:
        return repr(Table(self, list(self.rows)))


class Table:
    """The rows `names` of a table: one in its section, or all of them with the caption and with links to sections."""

    def __init__(self, conventions: Conventions, names: list[str]):
        self.columns, self.caption = conventions.columns, conventions.caption
        self.rows, self.whole = {name: conventions.rows[name] for name in names}, len(names) > 1

    def _repr_html_(self) -> str:
        # Narrow, the rows are set as blocks: the roles keep the table a table for a screen reader.
        heads = "".join(f'<th scope="col" role="columnheader">{marked(c)}</th>' for c in ("Convention", *self.columns))
        rows = "".join(self._row(name, *row) for name, row in self.rows.items())
        hidden = "" if self.whole else ' class="hidden"'
        markup = (
            f'<div class="conventions anatomy"><table role="table"><caption{hidden}>{marked(self.caption)}</caption>'
            f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>'
            f'<tbody role="rowgroup">{rows}</tbody></table></div>'
        )
        style = asset("tokens.css", "cards.css", "conventions.css")
        return markup if building_book() else f"<style>{style}</style>{markup}"

    def _row(self, name: str, section: str, values: tuple[Value, ...]) -> str:
        head = f'<a href="#{html.escape(section)}">{marked(name)}</a>' if self.whole else marked(name)
        cells = "".join(
            f'<td role="cell"><span class="column" aria-hidden="true">{marked(column)}</span>{_lines(value)}</td>'
            for column, value in zip(self.columns, values, strict=True)
        )
        return (
            f'<tr role="row"><th scope="row" role="rowheader">{head}'
            f'<span class="checked">{icon("holds")}checked</span></th>{cells}</tr>'
        )

    def __repr__(self) -> str:
        return "\n".join(
            f"{name}: " + "; ".join(f"{c}: {_plain(v)}" for c, v in zip(self.columns, row[1], strict=True))
            for name, row in self.rows.items()
        )


def _agree(measured: Value, expected: Value) -> bool:
    if isinstance(measured, Mapping) and isinstance(expected, Mapping):
        return list(measured) == list(expected) and all(_agree(measured[key], expected[key]) for key in expected)
    if isinstance(measured, int | float) and isinstance(expected, int | float):
        return math.isclose(measured, expected, rel_tol=0.01)
    return type(measured) is type(expected) and measured == expected


def _by_condition(value: Value) -> list[tuple[str, str]]:
    values = value if isinstance(value, Mapping) else {"": value}
    return [(when, one if isinstance(one, str) else value_text(one)) for when, one in values.items()]


def _lines(value: Value) -> str:
    spoken = ((f"<span>{_breakable(when)}:</span> " if when else "", words) for when, words in _by_condition(value))
    return f"<ul>{''.join(f'<li>{condition}<b>{marked(words)}</b></li>' for condition, words in spoken)}</ul>"


def _breakable(condition: str) -> str:
    """A condition as HTML: the name of an argument may break where its words join."""
    return re.sub("([_=])", r"\1<wbr>", html.escape(condition))


def _plain(value: Value) -> str:
    return ", ".join(f"{when}: {words}" if when else words for when, words in _by_condition(value))
