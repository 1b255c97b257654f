"""The card of a claim: verdict, statement, measuring strip, and what would overturn it."""

import html
import json

from transformer_anatomy.page.assets import styled
from transformer_anatomy.page.claims.evidence import Evidence, falls
from transformer_anatomy.page.claims.icons import icon
from transformer_anatomy.page.claims.ledger import Statement
from transformer_anatomy.page.claims.strip import strip
from transformer_anatomy.page.typography import marked


class Card:
    """One statement of the documents beside what was measured; a notebook displays it."""

    def __init__(self, statement: Statement, evidence: Evidence):
        self.statement, self.evidence = statement, evidence

    def _repr_html_(self) -> str:
        entry, evidence = self.statement, self.evidence
        data = json.dumps({"id": entry.id, **evidence.to_dict()})
        paragraphs = {"statement": entry.statement, "right": entry.right, "falls": falls(entry, evidence)}
        words = {name: f'<p class="{name}">{marked(text)}</p>' for name, text in paragraphs.items() if text}
        note = f'<p class="how">{marked(evidence.note)}</p>' if evidence.note else ""
        return styled(
            f'<article class="claim anatomy" id="{html.escape(entry.id)}" data-claim="{html.escape(data)}" '
            f'aria-label="{html.escape(f"{entry.verdict}: {entry.statement}")}">'
            f'<div class="frame"><header>{icon(entry.verdict)}<b>{entry.verdict.capitalize()}</b>'
            f'<span class="where">Document {html.escape(entry.where)} · <span>{html.escape(entry.id)}</span></span>'
            f"</header>"
            f'<div class="columns"><div class="words">{"".join(words.values())}</div>'
            f'<div class="evidence">{strip(entry.says, evidence)}{note}</div></div></div></article>'
        )

    def __repr__(self) -> str:
        entry = self.statement
        return f"{entry.verdict.capitalize()} ({entry.id}): {entry.statement} {falls(entry, self.evidence)}"
