"""Markup of docutils and of the theme that says something wrong, or nothing, to a screen reader is put right."""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

TEMPLATES = Path(__file__).parent / "templates"
BODY = (
    ('role="doc-biblioentry"', 'role="listitem"'),  # deprecated, and no part of the list that it stands in
    ('<th class="head"><p></p></th>', "<td></td>"),  # the corner of a table heads nothing
    (' aria-label="Toggle hidden content"', ""),  # what is read on it, Code or Hide the code, is its name
)


def setup(app: Sphinx) -> None:
    """Connects the corrections to Sphinx."""
    app.connect("config-inited", _use_templates)
    app.connect("html-page-context", _correct_body)


def _use_templates(app: Sphinx, config: Config) -> None:
    config.templates_path.append(str(TEMPLATES))


def _correct_body(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["body"] = corrected(context.get("body", ""))


def corrected(body: str) -> str:
    """The text of a page as HTML, its roles and heads put right."""
    for wrong, right in BODY:
        body = body.replace(wrong, right)
    return body
