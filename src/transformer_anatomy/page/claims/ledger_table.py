"""The table of the ledger, with filters that need no script."""

import html
from collections import Counter
from collections.abc import Iterable

from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.claims.ledger import VERDICTS, Statement
from transformer_anatomy.page.claims.strip import strip


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
    # One rule a box: an unticked box hides its rows.
    rules = "".join(
        f'.ledger:has([name="{field}"][value="{value}"]:not(:checked)) [data-{field}="{value}"]{{display:none}}'
        for field, values in (("verdict", verdicts), ("document", documents))
        for value in map(html.escape, values)
    )
    return (
        f'<style>{rules}</style><div class="ledger anatomy">'
        f"<fieldset><legend>Show verdicts</legend>{by_verdict}</fieldset>"
        f"<fieldset><legend>Show documents</legend>{by_document}</fieldset>"
        '<table><thead><tr><th scope="col">Verdict</th><th scope="col">Statement</th><th scope="col">Document</th>'
        '<th scope="col">Says <span aria-hidden="true">▬</span> measured <span aria-hidden="true">●</span></th>'
        "</tr></thead><tbody>"
    )


LEDGER_FOOT = "</tbody></table></div>"


def ledger_row(statement: Statement, evidence: Evidence | None, href: str | None) -> str:
    """One statement up to its last cell's end, which the caller closes with ROW_END after the citations."""
    verdict, where, document = statement.verdict, html.escape(statement.where), html.escape(statement.document)
    right = f'<p class="right">{html.escape(statement.right)}</p>' if statement.right else ""
    place = f'<a href="{html.escape(href)}">{where}</a>' if href else where
    if evidence:
        last = strip(statement.says, evidence)
    else:
        last = f'<p class="unchecked">{html.escape(statement.unchecked or "not checked in this build")}</p>'
    return (
        f'<tr id="ledger-{html.escape(statement.id)}" data-verdict="{verdict}" data-document="{document}">'
        f'<td><span class="verdict">{icon(verdict)}{verdict.capitalize()}</span></td>'
        f'<td><p class="statement">{html.escape(statement.statement)}</p>{right}</td>'
        f'<td class="where">{place}</td><td>{last}'
    )


ROW_END = "</td></tr>"


def _filter(field: str, value: str, label: str, count: int) -> str:
    box = f'<input type="checkbox" name="{field}" value="{html.escape(value)}" checked>'
    return f"<label>{box}{label} <span>{count}</span></label>"
