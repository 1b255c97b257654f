"""The ``glossary-table`` directive: the entries by letter, each with its anchor, its words and where it is used."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.glossary.first_uses import anchor_of_first_use, firsts, pages, terms_of
from transformer_anatomy.page.glossary.terms import SCRIPTS, Term, read_glossary
from transformer_anatomy.page.typography import parts

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_node(term_places)
    app.add_directive("glossary-table", GlossaryTable)
    app.connect("doctree-resolved", _fill)


class term_places(nodes.Part, nodes.TextElement):
    """Stands in an entry until all pages are read: then where `term` is explained and first used is known."""


class GlossaryTable(SphinxDirective):
    """All terms of book/glossary.yml, alphabetical by English."""

    def run(self) -> list[nodes.Node]:
        """Letters to jump to, and a section for each."""
        path = course_file("glossary.yml", Path(self.get_source_info()[0]).parent)
        self.env.note_dependency(str(path))
        pages(self.env).add(self.env.docname)
        terms = sorted(read_glossary(path).values(), key=lambda term: term.id.strip("[<").casefold())
        groups = {letter: list(group) for letter, group in groupby(terms, lambda t: t.id.strip("[<")[0].upper())}
        jumps = nodes.paragraph(classes=["letters"])
        sections = []
        for letter, group in groups.items():
            section = nodes.section("", nodes.title("", letter), ids=[f"letter-{letter.lower()}"], names=[])
            section += nodes.definition_list("", *map(_entry, group), classes=["terms"])
            sections.append(section)
            jumps += [nodes.reference("", letter, refid=section["ids"][0], internal=True), nodes.Text(" ")]
        return [jumps, *sections]


def _entry(term: Term) -> nodes.definition_list_item:
    words = [nodes.Text(term.id)]
    if term.symbol:
        words += [nodes.Text(" "), _marked(term.symbol, "symbol")]
    search = [("single", name, term.anchor, "main", None) for name in term.names]
    chinese = nodes.paragraph("", "", _han(term.hans, "zh-Hans"), classes=["han"])
    if term.hant != term.hans:
        chinese += [nodes.Text("\N{EN SPACE}"), _han(term.hant, "zh-Hant")]
    if term.taiwan:
        chinese += [nodes.Text(" (Taiwan "), _han(term.taiwan, "zh-Hant-TW"), nodes.Text(")")]
    meaning = nodes.paragraph("", "", _marked(term.definition))
    body = nodes.definition("", chinese, meaning, term_places("", term=term.id))
    head = nodes.term("", "", addnodes.index(entries=search), *words, ids=[term.anchor])
    return nodes.definition_list_item("", head, body)


def _han(words: str, language: str) -> nodes.inline:
    """Words with the language that chooses their font."""
    return nodes.inline("", words, classes=[f"language-{language}"])


def _marked(text: str, *classes: str) -> nodes.inline:
    """`text` with true subscripts and superscripts."""
    kinds = {"sub": nodes.subscript, "sup": nodes.superscript}
    made = (kinds[kind]("", words) if kind else nodes.Text(words) for kind, words in parts(text))
    return nodes.inline("", "", *made, classes=list(classes))


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Puts the places into the entries."""
    waiting = list(doctree.findall(term_places))
    used = firsts(app.env) if waiting else {}
    for placeholder in waiting:
        term = terms_of(app.env)[placeholder["term"]]
        places = [*_in_book(app, docname, term, used.get(term.id)), *_in_documents(term)]
        placeholder.replace_self(nodes.paragraph("", "", *places, classes=["places"]))


def _in_book(app: Sphinx, docname: str, term: Term, first: str | None) -> Iterator[nodes.Node]:
    """The section that explains the term, and the very place of its first use."""

    def link(page: str, anchor: str, words: str) -> nodes.reference:
        uri = f"{app.builder.get_relative_uri(docname, page)}#{anchor}"
        return nodes.reference("", words, internal=True, refuri=uri)

    def title(page: str) -> str:
        return app.env.titles[page].astext()

    explained = app.env.get_domain("std").labels.get(term.explained)
    if explained:
        page, anchor, section = explained
        yield from (nodes.Text("Explained under "), link(page, anchor, section), nodes.Text(f" ({title(page)}). "))
    elif term.explained:
        logger.warning(
            "glossary.yml: %r is explained at %r, but no section has that label", term.id, term.explained,
            location=docname, type="anatomy", subtype="glossary",
        )  # fmt: skip
    if first:
        there = explained is not None and explained[0] == first
        yield nodes.Text("First used " if there else "First used in ")
        yield link(first, anchor_of_first_use(term), "there" if there else title(first))
        yield nodes.Text(". ")


def _in_documents(term: Term) -> Iterator[nodes.Node]:
    """Documents 000, 001 and what they write, where that is not among the words of the entry."""
    if term.documents:
        yield nodes.Text("Documents " if len(term.documents) > 1 else "Document ")
        for place, (number, word) in enumerate(sorted(term.documents.items())):
            yield nodes.Text(f", {number}" if place else number)
            if not set(word.split("、")) <= set(term.names):
                yield from (nodes.Text(" ("), _han(word, SCRIPTS[number]), nodes.Text(")"))
        yield nodes.Text(".")
