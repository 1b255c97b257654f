"""In the book a card leads to its row in the ledger and to the code that measured it; both ways start here."""

import html
from collections.abc import Iterator
from typing import Any

from docutils import nodes

from transformer_anatomy.page.exercises.panels import outputs_with


def cards_of(doctree: nodes.document) -> Iterator[dict[str, Any]]:
    """The data of each card of a page, with the anchor of its cell's code under ``code``; makes the anchors.

    All cards of a cell share one. A browser that goes to it unfolds the code.
    """
    for output, card in outputs_with(doctree, "data-claim"):
        cell = output.parent
        while "cell" not in cell.get("classes", []):
            cell = cell.parent
        code = cell[0]
        if not code["ids"]:
            code["ids"].append(f"code-{card['id']}")
        yield card | {"code": code["ids"][0]}


def link_cards(doctree: nodes.document, codes: dict[str, str], ledger: str | None) -> None:
    """Makes the id of each card a link to its row on the page `ledger`, and adds one to its code: `codes` by id."""
    for output, card in outputs_with(doctree, "data-claim"):
        name = html.escape(card["id"])
        row = f'<a href="{ledger}#ledger-{name}" aria-label="{name} in the ledger">{name}</a>' if ledger else name
        code = f'<a href="#{html.escape(codes[card["id"]])}" aria-label="code of {name}">code</a>'
        text = output.astext().replace(f"<span>{name}</span>", f"<span>{row} · {code}</span>", 1)
        output[:] = [nodes.Text(text)]
