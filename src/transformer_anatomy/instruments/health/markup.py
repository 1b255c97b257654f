"""A report as HTML that takes its colours from the page around it, light or dark."""

from collections.abc import Sequence
from html import escape

from transformer_anatomy.instruments.health.figures import LayerFigures, stack_path
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.table import layer_rows

# The hair lines and quiet words of the book's tables, mixed from the colour of the text.
STYLE = (
    "<style>.health{font-size:14px;line-height:1.5;overflow-x:auto}"
    ".health table{border-collapse:collapse;margin:16px 0;width:auto;font-size:inherit}"
    ".health table{font-variant-numeric:tabular-nums}"
    ".health :is(tr,th,td){background:none!important;border:0;text-align:left;vertical-align:top;white-space:normal}"
    ".health :is(th,td){padding:5px 24px 5px 0;max-width:34em;color:inherit;font-weight:400;"
    "border-bottom:1px solid color-mix(in srgb,currentColor 16%,transparent)}"
    ".health thead th{font-size:12px;opacity:.75;vertical-align:bottom;max-width:8em}"
    ".health caption{caption-side:top;text-align:left;color:inherit;padding:0 0 4px;font-weight:600}"
    ".health .figures :is(td,thead th:not(:first-child)){text-align:right}"
    ".health .figures tbody :is(th,td){white-space:nowrap}"
    ".health .findings td:nth-child(2){min-width:10em;max-width:17em}"
    ".health td p{margin:0}.health .hint{opacity:.75}.health code{background:none;padding:0;color:inherit}</style>"
)


def report_html(
    verdict: str, findings: Sequence[Finding], notes: Sequence[str], stacks: Sequence[tuple[LayerFigures, ...]]
) -> str:
    """The verdict, a table of the findings if there are any, the notes, and a table of figures for each stack."""
    noted = "".join(f'<p class="hint">Note: {escape(note)}.</p>' for note in notes)
    tables = _findings_table(findings) + noted + "".join(_stack_table(stack) for stack in stacks)
    return f'{STYLE}<div class="health"><p>{escape(verdict)}</p>{tables}</div>'


def _findings_table(findings: Sequence[Finding]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{f.fault}</th><td>{_place(f)}</td>'
        f'<td><p>{escape(f.evidence)}</p><p class="hint">{escape(f.hint)}</p></td></tr>'
        for f in findings
    )
    heads = _heads(["fault", "where", "evidence"])
    return (
        f'<table class="findings"><caption>Findings</caption>{heads}<tbody>{rows}</tbody></table>' if findings else ""
    )


def _stack_table(stack: tuple[LayerFigures, ...]) -> str:
    head, *rows = layer_rows(stack)
    body = "".join(
        f'<tr><th scope="row">{_code(path)}</th>' + "".join(f"<td>{figure}</td>" for figure in figures) + "</tr>"
        for path, *figures in rows
    )
    where = stack_path(stack)
    caption = f"<caption>Layers of {escape(where) if where == 'the model' else _code(where)}</caption>"
    return f'<table class="figures">{caption}{_heads(head)}<tbody>{body}</tbody></table>'


def _heads(names: Sequence[str]) -> str:
    heads = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{heads}</tr></thead>"


def _place(finding: Finding) -> str:
    return _code(finding.where).replace(".", ".<wbr>") if finding.where else escape(finding.place)


def _code(path: str) -> str:
    return f"<code>{escape(path)}</code>"
