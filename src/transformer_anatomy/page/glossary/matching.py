"""Finding terms in the running prose of a page."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from docutils import nodes
from sphinx import addnodes

from transformer_anatomy.page.glossary.terms import Term

# Not prose, or a link already. Bold words open a paragraph as a heading does.
SILENT = (
    nodes.literal, nodes.math, nodes.reference, nodes.raw, nodes.strong, nodes.footnote_reference, addnodes.pending_xref
)  # fmt: skip
ENCLOSING = (
    nodes.table, nodes.figure, nodes.citation, nodes.footnote, nodes.topic, nodes.sidebar, nodes.literal_block
)  # fmt: skip


class first_use(nodes.Inline, nodes.TextElement):
    """The first use of the term `term` on its page; a link, or plain words, once all pages are read."""


class Matcher:
    """Finds the forms of `terms`: longest first, whole words only, blanks as they come, capitals as they stand."""

    def __init__(self, terms: Iterable[Term]):
        self.terms = {_key(form): term.id for term in terms for form in term.forms}
        self.pattern = re.compile(
            r"(?<![\w-])(?:" + "|".join(map(_expression, sorted(self.terms, key=len, reverse=True))) + r")(?![\w-])"
        )

    def find(self, text: str) -> Iterator[tuple[int, int, str]]:
        """(start, end, id) of every form in `text`, from left to right, without overlaps."""
        for found in self.pattern.finditer(text) if self.terms else ():
            words = _key(found[0])
            yield *found.span(), self.terms.get(words) or self.terms[words.lower()]


def mark_first_uses(doctree: nodes.document, matcher: Matcher) -> list[str]:
    """Wraps the first use of each term in a `first_use`; returns the ids in the order of the page."""
    seen: dict[str, None] = {}
    for paragraph in doctree.findall(nodes.paragraph):
        if not _apart(paragraph):
            _mark(paragraph, matcher, seen)
    return list(seen)


def _apart(paragraph: nodes.Node) -> bool:
    """Whether it stands in a table, beside the text, below a picture, in a cell or in a folded solution."""
    node = paragraph.parent
    while node is not None:
        if isinstance(node, ENCLOSING) or "cell" in node.get("classes", ()) or node.get("design_component"):
            return True
        node = node.parent
    return False


def _mark(element: nodes.Element, matcher: Matcher, seen: dict[str, None]) -> None:
    children: list[nodes.Node] = []
    for is_text, run in groupby(element.children, lambda child: isinstance(child, nodes.Text)):
        if is_text:  # a line break in the source is a text of its own
            children += _marked("".join(map(nodes.Text.astext, run)), matcher, seen)
            continue
        for child in run:
            if isinstance(child, nodes.Element) and not isinstance(child, SILENT):
                _mark(child, matcher, seen)
            children.append(child)
    element.children = []
    element.extend(children)


def _marked(text: str, matcher: Matcher, seen: dict[str, None]) -> Iterator[nodes.Node]:
    end = 0
    for start, stop, term in matcher.find(text):
        if term not in seen:
            seen[term] = None
            if start > end:
                yield nodes.Text(text[end:start])
            yield first_use("", text[start:stop], term=term)
            end = stop
    if end < len(text):
        yield nodes.Text(text[end:])


def _key(form: str) -> str:
    return " ".join(form.split())


def _expression(form: str) -> str:
    words = r"\s+".join(map(re.escape, form.split()))
    return words if form != form.lower() else f"(?i:{words})"
