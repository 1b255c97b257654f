"""Links from the first use of a term to its entry.

A term of the field is linked at its first use on every page: pages are read alone. A word on which every page leans,
such as token or layer, is linked once in the book, or each page would begin as a forest. The order is that of the table
of contents; the front page comes last in it, since the chapters are where words are explained.
"""

from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.util import logging

from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.glossary.matching import Matcher, first_use, mark_first_uses
from transformer_anatomy.page.glossary.terms import Term, read_glossary

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Registers what is collected from each page, and its conversion into links."""
    app.add_node(first_use)
    app.add_env_collector(UseCollector)
    app.connect("env-check-consistency", _check_uses)
    app.connect("doctree-resolved", _link)


class UseCollector(EnvironmentCollector):
    """Keeps, page by page, which terms its prose uses; `glossary-table` adds the page that holds the entries."""

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Marks the first uses of one page."""
        terms, page = terms_of(app.env), app.env.docname
        if terms:
            app.env.note_dependency(str(_file(app.env)))
            if page not in pages(app.env):
                _uses(app.env)[page] = mark_first_uses(doctree, Matcher(terms.values()))

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forgets a page that will be read again."""
        _uses(env).pop(docname, None)
        pages(env).discard(docname)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: set[str], other: BuildEnvironment) -> None:
        """Takes over what another process read."""
        _uses(env).update({name: uses for name, uses in _uses(other).items() if name in docnames})
        pages(env).update(pages(other) & set(docnames))

    def get_updated_docs(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """The glossary, and the pages that gained or lost the first use of a term, are written anew."""
        before, now = env.__dict__.get("anatomy_firsts", {}), firsts(env)
        env.anatomy_firsts = now
        moved = {page for term in {*before, *now} if before.get(term) != now.get(term)
                 for page in (before.get(term), now.get(term))}  # fmt: skip
        return sorted((moved | pages(env)) & set(env.all_docs))


def terms_of(env: BuildEnvironment) -> dict[str, Term]:
    """The glossary of the book that is built; empty where it has none."""
    file = _file(env)
    return read_glossary(file) if file else {}


def pages(env: BuildEnvironment) -> set[str]:
    """The pages that hold the glossary: one, or none."""
    return env.__dict__.setdefault("anatomy_glossaries", set())


def firsts(env: BuildEnvironment) -> dict[str, str]:
    """Term to the page of its first use in the book."""
    root = env.config.root_doc
    order = [page for page in env.collect_relations() if page != root] + [root]
    found: dict[str, str] = {}
    for page in order:
        for term in _uses(env).get(page, ()):
            found.setdefault(term, page)
    return found


def anchor_of_first_use(term: Term) -> str:
    """The id of that very link, unique in the book: ``first-attention-head``."""
    return term.anchor.replace("term-", "first-", 1)


def _file(env: BuildEnvironment) -> Path | None:
    try:
        return course_file("glossary.yml", env.srcdir)
    except FileNotFoundError:
        return None


def _uses(env: BuildEnvironment) -> dict[str, list[str]]:
    """Page to the terms that it uses, kept in the pickled environment between builds."""
    return env.__dict__.setdefault("anatomy_uses", {})


def _check_uses(app: Sphinx, env: BuildEnvironment) -> None:
    if pages(env):
        used = firsts(env)
        for term in terms_of(env).values():
            if term.id not in used and not term.documents:
                logger.warning(
                    "glossary.yml: no page and no document uses %r", term.id,
                    location=min(pages(env)), type="anatomy", subtype="glossary",
                )  # fmt: skip


def _page_of(node: nodes.Node, docname: str) -> str:
    """The page that a node was read from, also where the builder puts all pages into one: sections then name theirs."""
    while node is not None:
        if isinstance(node, nodes.section) and "docname" in node:
            return node["docname"]
        node = node.parent
    return docname


def _link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    marked = list(doctree.findall(first_use))
    if not marked:
        return
    terms, first = terms_of(app.env), firsts(app.env)
    glossary = min(pages(app.env), default=None)
    for use in marked:
        term = terms.get(use["term"])
        here = term is not None and first.get(term.id) == _page_of(use, docname)
        if glossary is None or term is None or (term.everyday and not here):
            use.replace_self(use.children)
            continue
        uri = f"{app.builder.get_relative_uri(docname, glossary)}#{term.anchor}"
        link = nodes.reference("", "", *use.children, internal=True, refuri=uri, reftitle=term.definition)
        link["classes"].append("term")
        if here:
            link["ids"].append(anchor_of_first_use(term))
        use.replace_self(link)
