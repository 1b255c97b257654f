"""In the book the section around a `check` becomes one panel: heading, effort, text, cell and solution together."""

from collections.abc import Iterator
from html import unescape
from json import loads
from re import findall
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from transformer_anatomy.page.exercises import effort_line

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Connects the transformation to Sphinx."""
    app.connect("doctree-read", _make_panels)


def outputs_with(doctree: nodes.document, attribute: str) -> Iterator[tuple[nodes.raw, dict[str, Any]]]:
    """The HTML outputs of the page that carry `attribute`, with the JSON in it."""
    for node in doctree.findall(nodes.raw):
        for found in findall(rf'{attribute}="([^"]*)"', node.astext()) if "html" in node.get("format", "") else ():
            yield node, loads(unescape(found))


def _make_panels(app: Sphinx, doctree: nodes.document) -> None:
    for output, exercise in outputs_with(doctree, "data-exercise"):
        section = output.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        title = section.next_node(nodes.title) if section is not None else None
        if title is None or not title.astext().endswith(exercise["title"]):
            logger.warning(
                "exercise %s must stand in a section of its own whose heading ends with “%s”",
                exercise["id"], exercise["title"], location=doctree.get("source"), type="anatomy", subtype="exercise",
            )  # fmt: skip
        elif "answer" not in section["classes"]:
            section["classes"] += ["answer", "exercise", "anatomy"]
            section["ids"].append(f"exercise-{exercise['id']}")  # what the page of exercises links to
            effort = effort_line(exercise["difficulty"], exercise["minutes"])
            section.insert(section.index(title) + 1, nodes.raw("", effort, format="html"))
