"""The table of the ledger, with filters that need no script."""

import html
from collections import Counter
from collections.abc import Iterable

from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.claims.ledger import VERDICTS, Statement
from transformer_anatomy.page.claims.strip import strip
from transformer_anatomy.page.typography import marked


def ledger_head(statements: Iterable[Statement]) -> str:
    """Filters by verdict and by document, with counts, and the head of the table."""
    statements = list(statements)
    verdicts = Counter(statement.verdict for statement in statements)
    documents = Counter(statement.document for statement in statements)
    by_verdict = "".join(
        _filter("verdict", verdict, icon(verdict) + verdict.capitalize(), verdicts[verdict])
        for verdict in VERDICTS
        if verdicts[verdict]
    )
    by_document = "".join(
        _filter("document", document, f"Document {html.escape(document)}", count)
        for document, count in sorted(documents.items())
    )
    # An unticked box hides its rows; a ticked pair of boxes that has rows hides the word that there are none.
    rules = "".join(
        f".ledger:has({_box(field, value)}:not(:checked)) [data-{field}={_quoted(value)}]{{display:none}}"
        for field, values in (("verdict", verdicts), ("document", documents))
        for value in values
    )
    pairs = sorted({(statement.verdict, statement.document) for statement in statements})
    for verdict, document in pairs:
        ticked = f":has({_box('verdict', verdict)}:checked):has({_box('document', document)}:checked)"
        rules += f".ledger{ticked} .none{{display:none}}"
    return (
        f'<style>{rules}</style><div class="ledger anatomy">'
        f"<fieldset><legend>Show verdicts</legend>{by_verdict}</fieldset>"
        f"<fieldset><legend>Show documents</legend>{by_document}</fieldset>"
        '<p class="none">No statement has these verdicts in these documents.</p>'
        '<table><thead><tr><th scope="col">Verdict</th><th scope="col">Statement</th><th scope="col">Document</th>'
        '<th scope="col">Says <span aria-hidden="true">▬</span> measured <span aria-hidden="true">●</span></th>'
        "</tr></thead><tbody>"
    )


LEDGER_FOOT = "</tbody></table></div>"


def ledger_row(statement: Statement, evidence: Evidence | None, href: str | None) -> str:
    """One statement up to its last cell's end, which the caller closes with ROW_END after the citations."""
    verdict, where, document = statement.verdict, html.escape(statement.where), html.escape(statement.document)
    right = f'<p class="right">{marked(statement.right)}</p>' if statement.right else ""
    name = html.escape(statement.id)
    card = f'<p><a href="{html.escape(href)}" aria-label="See the card of {name}">see the card</a></p>' if href else ""
    if evidence:
        last = strip(statement.says, evidence)
    else:
        last = f'<p class="unchecked">{marked(statement.unchecked or "not checked in this build")}</p>'
    return (
        f'<tr id="ledger-{name}" data-verdict="{verdict}" data-document="{document}">'
        f'<td><span class="verdict">{icon(verdict)}{verdict.capitalize()}</span></td>'
        f'<td><p class="statement">{marked(statement.statement)}</p>{right}</td>'
        f'<td class="where"><p>{where}</p><p class="id"><a href="#ledger-{name}">{name}</a></p>{card}</td><td>{last}'
    )


ROW_END = "</td></tr>"


def _filter(field: str, value: str, label: str, count: int) -> str:
    box = f'<input type="checkbox" name="{field}" value="{html.escape(value)}" checked>'
    return f"<label>{box}{label} <span>{count}</span></label>"


def _box(field: str, value: str) -> str:
    return f"[name={_quoted(field)}][value={_quoted(value)}]"


def _quoted(value: str) -> str:
    return f'"{html.escape(value)}"'
