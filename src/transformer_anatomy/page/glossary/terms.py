"""The terms: book/glossary.yml, each with its words in two scripts, its definition and where the documents use it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from docutils.nodes import make_id

from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.entries import read_entries, read_once, text

SCRIPTS = {"000": "zh-Hans", "001": "zh-Hans", "002": "zh-Hant", "004": "zh-Hans"}  # of the documents


@dataclass(frozen=True)
class Term:
    """One entry. `id` is the English term; `hans` and `hant` are the same words in both scripts, joined by 、.

    `taiwan` is what is said there where that is another word. `forms` are the words that a page's prose may use for it;
    one with a capital is matched as it stands. An `everyday` term is linked once in the book, others once a page.
    `documents` gives each document's own words, `explained` the label of a section.
    """

    id: str
    hans: str
    hant: str
    definition: str
    taiwan: str = ""
    symbol: str = ""
    forms: tuple[str, ...] = ()
    everyday: bool = False
    documents: Mapping[str, str] = field(default_factory=dict)
    explained: str = ""

    @property
    def anchor(self) -> str:
        """The id of the entry on the page of the glossary: ``term-attention-head``."""
        return f"term-{make_id(self.id)}"

    @property
    def names(self) -> tuple[str, ...]:
        """What a reader may search for, without doubles: the English term and each Chinese word."""
        chinese = "、".join((self.hans, self.hant, self.taiwan)).split("、")
        return tuple(dict.fromkeys(name for name in (self.id, *chinese) if name))


def read_glossary(path: Path | None = None) -> dict[str, Term]:
    """Id to Term, in the order of the file; read again only when the file changed.

    Raises ValueError or TypeError that names the entry and the key, FileNotFoundError without a file.
    """
    return read_once(path or course_file("glossary.yml"), _read)


def _read(path: Path) -> dict[str, Term]:
    names = [field.name for field in fields(Term)]
    required = ["id", "hans", "hant", "definition"]
    optional = [name for name in names if name not in required]
    terms: dict[str, Term] = {}
    taken: dict[str, str] = {}
    for where, entry in read_entries(path, required=required, optional=optional):
        term = _term(where, entry)
        for word in (term.anchor, *{_folded(form) for form in term.forms}):
            if word in taken:
                raise ValueError(f"{where}: {word!r} already belongs to {taken[word]!r}")
            taken[word] = term.id
        terms[term.id] = term
    return terms


def _term(where: str, entry: dict[str, Any]) -> Term:
    forms, everyday = entry.pop("forms", [entry["id"]]), entry.pop("everyday", False)
    documents = entry.pop("documents", {})
    if not isinstance(forms, list) or not all(isinstance(form, str) and form.strip() for form in forms):
        raise TypeError(f"{where}: forms must be a list of words, got {forms!r}")
    if not isinstance(everyday, bool):
        raise TypeError(f"{where}: everyday must be true or false, got {everyday!r}")
    if not isinstance(documents, Mapping):
        raise TypeError(f"{where}: documents must be a mapping such as {{'001': 注意力头}}, got {documents!r}")
    for number in documents:
        if number not in SCRIPTS:
            raise ValueError(f"{where}: documents has {number!r}; accepted are {', '.join(SCRIPTS)} in quotes")
    words = {key: text(where, key, value) for key, value in entry.items()}
    said = {number: text(where, f"documents, {number}", word) for number, word in documents.items()}
    return Term(**words, forms=tuple(forms), everyday=everyday, documents=said)


def _folded(form: str) -> str:
    return form if form != form.lower() else form.lower()
