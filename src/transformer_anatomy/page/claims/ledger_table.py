"""The table of the ledger: one row a statement, with links to the card and to the code that check it."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.ledger import Statement
from transformer_anatomy.page.claims.ledger_filters import filters, icon_name
from transformer_anatomy.page.claims.strip import strip
from transformer_anatomy.page.typography import marked


@dataclass(frozen=True)
class Check:
    """What a chapter measured for a statement, and where: the addresses of the card and of the cell's code."""

    evidence: Evidence
    card: str
    code: str


def ledger_head(statements: Sequence[Statement], titles: Mapping[str, str]) -> str:
    """The filters and the head of the table; `titles` names the chapters in reading order."""
    return (
        f'<div class="ledger anatomy">{filters(statements, titles)}<table class="statements"><thead><tr>'
        '<th scope="col">Verdict</th><th scope="col">Statement</th><th scope="col">Where</th>'
        '<th scope="col">Says <span aria-hidden="true">▬</span> measured <span aria-hidden="true">●</span></th>'
        "</tr></thead><tbody>"
    )


LEDGER_FOOT = "</tbody></table></div>"


def ledger_row(statement: Statement, title: str, check: Check | None) -> str:
    """One statement up to its last cell's end, which the caller closes with ROW_END after the citations.

    `title` is the chapter's; of a title with a colon the part before it is shown.
    """
    verdict, name = statement.verdict, html.escape(statement.id)
    right = f'<p class="right">{marked(statement.right)}</p>' if statement.right else ""
    links, last = "", f'<p class="unchecked">{marked(statement.unchecked or "not checked in this build")}</p>'
    if check:
        links = f"<p>{_link(check.card, 'card', name)} · {_link(check.code, 'code', name)}</p>"
        last = strip(statement.says, check.evidence)
    return (
        f'<tr id="ledger-{name}" data-verdict="{verdict}" data-document="{html.escape(statement.document)}" '
        f'data-chapter="{html.escape(statement.chapter)}"><td><span class="verdict"><svg class="icon" '
        f'aria-hidden="true"><use href="#{icon_name(verdict)}"/></svg>{verdict.capitalize()}</span></td>'
        f'<td><p class="statement">{marked(statement.statement)}</p>{right}</td>'
        f'<td class="where"><p>{html.escape(statement.where)}</p>'
        f'<p class="id"><a href="#ledger-{name}">{name}</a></p><p>{html.escape(title.partition(":")[0])}</p>{links}'
        f"</td><td>{last}"
    )


ROW_END = "</td></tr>"


def _link(href: str, word: str, name: str) -> str:
    return f'<a href="{html.escape(href)}" aria-label="{word} of {name}">{word}</a>'
