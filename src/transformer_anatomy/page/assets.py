"""The styles and scripts in the folder static: a page of the book links them, any other output brings them along."""

from functools import cache
from pathlib import Path

from transformer_anatomy.page.course import building_book

STATIC = Path(__file__).parent / "static"


@cache
def asset(*names: str) -> str:
    """The files of these names, one after the other."""
    return "".join((STATIC / name).read_text(encoding="utf-8") for name in names)


def styled(markup: str) -> str:
    """`markup`, with the tokens and the style of the cards before it unless the book's page brings them."""
    return markup if building_book() else f"<style>{asset('tokens.css', 'cards.css')}</style>{markup}"
