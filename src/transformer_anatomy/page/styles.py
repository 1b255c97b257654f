"""The styles that an output brings along outside the book, where no page has loaded them."""

from functools import cache
from importlib.resources import files

from .course import building_book


def styled(markup: str) -> str:
    """`markup`, with the tokens and the style of the cards before it unless the book's page brings them."""
    return markup if building_book() else f"<style>{_sheet()}</style>{markup}"


@cache
def _sheet() -> str:
    folder = files(__package__)
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in ("tokens.css", "cards.css"))
