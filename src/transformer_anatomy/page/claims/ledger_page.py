"""The ``claims-ledger`` directive: every statement, its verdict, and what this build's notebooks measured for it."""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from transformer_anatomy.page.claims.card_links import cards_of, link_cards
from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.ledger import read_ledger
from transformer_anatomy.page.claims.ledger_table import LEDGER_FOOT, ROW_END, Check, ledger_head, ledger_row
from transformer_anatomy.page.course import course_file

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Registers the directive, what it collects from the notebooks, and the checks that the ledger is complete."""
    app.add_node(claims_ledger)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_env_collector(EvidenceCollector)
    app.connect("env-check-consistency", _check_completeness)
    app.connect("doctree-resolved", _fill)


class claims_ledger(nodes.General, nodes.Element):
    """Stands in the page until all notebooks are read; holds the citations of each statement with sources."""


class ClaimsLedger(SphinxDirective):
    """The table of all statements in book/claims.yml."""

    def run(self) -> list[nodes.Node]:
        """A placeholder: the measurements are known when every page has been read."""
        path = course_file("claims.yml", Path(self.get_source_info()[0]).parent)
        self.env.note_dependency(str(path))
        ledger = claims_ledger(path=str(path))
        for statement in read_ledger(path).values():
            if statement.sources:
                citations = nodes.container(classes=["sources"], statement=statement.id)
                text = "{cite:p}`" + ",".join(statement.sources) + "`"
                self.state.nested_parse(StringList([text], str(path)), 0, citations)
                ledger += citations
        return [ledger]


class EvidenceCollector(EnvironmentCollector):
    """Keeps, page by page, what the claims of the executed notebooks measured, and where the ledger stands."""

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Reads the cards of one page."""
        _cards(app.env)[app.env.docname] = list(cards_of(doctree))
        if next(doctree.findall(claims_ledger), None) is not None:
            _ledgers(app.env).add(app.env.docname)

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forgets a page that will be read again."""
        _cards(env).pop(docname, None)
        _ledgers(env).discard(docname)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
        """Takes over what another process read."""
        _cards(env).update({name: cards for name, cards in _cards(other).items() if name in docnames})
        _ledgers(env).update(_ledgers(other) & set(docnames))

    def get_updated_docs(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """The ledger is written anew whenever anything was read."""
        return sorted(_ledgers(env))


def _cards(env: BuildEnvironment) -> dict[str, list[dict[str, Any]]]:
    """Page to the data of its cards, kept in the pickled environment between builds."""
    return env.__dict__.setdefault("anatomy_cards", {})


def checked_statements(env: BuildEnvironment) -> set[str]:
    """Ids of the statements that a card on a page of this build checks."""
    return {card["id"] for cards in _cards(env).values() for card in cards}


def _ledgers(env: BuildEnvironment) -> set[str]:
    """The pages that hold a ledger."""
    return env.__dict__.setdefault("anatomy_ledgers", set())


def _check_completeness(app: Sphinx, env: BuildEnvironment) -> None:
    """Warns about statements without a card, and about cards that stand twice or in another chapter."""
    if not _ledgers(env):
        return
    places: dict[str, list[str]] = {}
    for page, cards in _cards(env).items():
        for card in cards:
            places.setdefault(card["id"], []).append(page)
    ledger = read_ledger(course_file("claims.yml", Path(env.doc2path(min(_ledgers(env)))).parent))
    for entry in ledger.values():
        found = places.pop(entry.id, [])
        if not found and not entry.unchecked:
            _warn(f"{entry.id} has no claim in a chapter and no 'unchecked' in claims.yml", min(_ledgers(env)))
        if len(found) > 1:
            _warn(f"{entry.id} is claimed {len(found)} times: {', '.join(found)}", found[-1])
        if found and found[0].rsplit("/")[-1] != entry.chapter:
            _warn(f"{entry.id} is claimed in {found[0]}, but claims.yml says chapter {entry.chapter}", found[0])


def _warn(message: str, docname: str) -> None:
    logger.warning(message, location=docname, type="anatomy", subtype="ledger")


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Puts the table in the place of the directive, and links between cards and rows."""
    if cards := _cards(app.env).get(docname):
        ledger = app.builder.get_relative_uri(docname, min(_ledgers(app.env))) if _ledgers(app.env) else None
        link_cards(doctree, {card["id"]: card["code"] for card in cards}, ledger)
    for placeholder in list(doctree.findall(claims_ledger)):
        checks = {}
        for page in _cards(app.env):
            address = app.builder.get_relative_uri(docname, page)
            for card in _cards(app.env)[page]:
                name, code = card["id"], card["code"]
                checks[name] = Check(Evidence.from_dict(card), f"{address}#{name}", f"{address}#{code}")
        citations = {container["statement"]: container for container in placeholder.children}
        statements = list(read_ledger(Path(placeholder["path"])).values())
        titles = _titles(app.env, [statement.chapter for statement in statements])
        parts: list[nodes.Node] = [_raw(ledger_head(statements, titles))]
        for statement in statements:
            parts.append(_raw(ledger_row(statement, titles[statement.chapter], checks.get(statement.id))))
            if statement.id in citations:
                parts.append(_without_tooltips(citations[statement.id]))
            parts.append(_raw(ROW_END))
        placeholder.replace_self([*parts, _raw(LEDGER_FOOT)])


def _titles(env: BuildEnvironment, chapters: list[str]) -> dict[str, str]:
    """The title of each chapter, as the table of contents orders them; a chapter that has no page keeps its name."""

    def pages(page: str) -> list[str]:
        return [page, *(name for child in env.toctree_includes.get(page, []) for name in pages(child))]

    titles = {page.rsplit("/")[-1]: env.titles[page].astext() for page in pages(env.config.root_doc)}
    return {name: titles[name] for name in titles if name in chapters} | {n: n for n in chapters if n not in titles}


def _without_tooltips(citations: nodes.Node) -> nodes.Node:
    """Citations without the whole reference in each: a tenth of the page, and one click away."""
    for reference in citations.findall(nodes.reference):
        reference.attributes.pop("reftitle", None)
    return citations


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")
