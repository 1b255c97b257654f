"""In the book, code is set in ink: only words of the language, strings and comments are marked, so pages stay light."""

from collections.abc import Iterable
from typing import Any

from pygments.formatters import HtmlFormatter
from pygments.token import Comment, Keyword, Operator, String, Text
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Connects the formatter to Sphinx."""
    app.connect("builder-inited", _set_formatter)


class InkFormatter(HtmlFormatter):
    """Writes no element for a token that the style sheet does not set apart: four in five of them."""

    def format_unencoded(self, tokensource: Iterable[tuple[Any, str]], outfile: Any) -> None:
        """Called by Pygments for one block of code; neighbours of one kind become one element."""
        super().format_unencoded(((_kind(token), words) for token, words in tokensource), outfile)


def _kind(token: Any) -> Any:
    """The kind that the style sheet knows: Keyword, String, Comment, or Text for all else."""
    if token in Operator.Word:  # and, in, is, not, or
        return Keyword
    return next((kind for kind in (Keyword, String, Comment) if token in kind), Text)


def _set_formatter(app: Sphinx) -> None:
    if app.builder.format == "html":
        app.builder.highlighter.formatter = InkFormatter
