"""What became of the statements: a table of counts whose heads choose the rows of the ledger, without a script."""

import html
from collections.abc import Mapping, Sequence

from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.claims.icons import ICONS
from transformer_anatomy.page.claims.ledger import Statement
from transformer_anatomy.page.claims.tally import FIELDS, Tally


def filters(statements: Sequence[Statement], titles: Mapping[str, str]) -> str:
    """One choice each of verdict, document and chapter, with counts; `titles` names the chapters in reading order.

    The numbers of the table follow the chapter that is chosen, the numbers of the chapters verdict and document.
    """
    tally, n = Tally(statements, list(titles)), len(statements)
    documents = "".join(
        f'<th scope="col">{_choice("document", name, f"<i>Document </i>{html.escape(name)}")}</th>'
        for name in tally.values["document"]
    )
    verdicts = "".join(
        _row(tally, _choice("verdict", verdict, _defined(verdict) + verdict.capitalize()), verdict=verdict)
        for verdict in tally.values["verdict"]
    )
    chapters = "".join(
        _chapter(_choice("chapter", name, html.escape(titles[name])), tally.total(chapter=name), f"var({_sum(name)})")
        for name in tally.values["chapter"]
    )
    all_chapters = _chapter(_choice("chapter", "", "All"), n, tally.live(("verdict", "document")))
    shown = " + ".join(f"var({tally.flag('chapter', name)})*var({_sum(name)})" for name in tally.values["chapter"])
    return (
        f'<style>{_rules(tally)}</style><form class="filters" autocomplete="off"><table>'
        "<caption>What became of the statements. Choose a verdict, a document or a chapter to see only those.</caption>"
        f'<thead><tr><th scope="col">Verdict</th><th scope="col">{_choice("document", "", "All<i> documents</i>")}</th>'
        f"{documents}</tr></thead><tbody>{_row(tally, _choice('verdict', '', 'All<i> verdicts</i>'))}{verdicts}</tbody>"
        f"</table><fieldset><legend>Chapter</legend><ul>{all_chapters}{chapters}</ul></fieldset>"
        f'<div class="shown"><p role="status"><span class="all">All {n} statements</span>'
        f'<span class="some"><b style="--n:calc({shown})"></b> of {n} statements</span></p>'
        f'<button type="reset">Show all</button></div></form><script>{asset("ledger.js")}</script>'
    )


def icon_name(verdict: str) -> str:
    """The id under which the icon of a verdict stands in the page, so that each row can use it."""
    return f"icon-{verdict.replace(' ', '-')}"


def _defined(verdict: str) -> str:
    return f'<svg class="icon" aria-hidden="true"><g id="{icon_name(verdict)}">{ICONS[verdict]}</g></svg>'


def _row(tally: Tally, head: str, **verdict: str) -> str:
    cells = [verdict, *(verdict | {"document": name} for name in tally.values["document"])]
    numbers = "".join(
        f'<td style="--n:{tally.live(("chapter",), **fixed)}"><span>{tally.total(**fixed)}</span></td>'
        for fixed in cells
    )
    return f'<tr><th scope="row">{head}</th>{numbers}</tr>'


def _chapter(choice: str, total: int, live: str) -> str:
    return f'<li>{choice} <b style="--n:{live}"><span>{total}</span></b></li>'


def _choice(field: str, value: str, label: str) -> str:
    checked = "" if value else " checked"
    return f'<label><input type="radio" name="{field}" value="{html.escape(value)}"{checked}>{label}</label>'


def _rules(tally: Tally) -> str:
    """What is chosen hides the rows with other values, and sets the flags that the counts are multiplied by."""
    sums = "".join(f"{_sum(c)}:{tally.live(('verdict', 'document'), chapter=c)};" for c in tally.values["chapter"])
    rules = [f".ledger{{{sums}}}"]
    for field in FIELDS:
        flags = [tally.flag(field, value) for value in tally.values[field]]
        on, off = ("".join(f"{flag}:{value};" for flag in flags) for value in (1, 0))
        rules.append(f".ledger{{{on}}}.ledger:not(:has({_radio(field, '')}:checked)){{{off}}}")
        for place, value in enumerate(tally.values[field]):
            chosen = f".ledger:has({_radio(field, value)}:checked)"
            rules.append(f"{chosen}{{{flags[place]}:1}}")
            rules.append(f"{chosen} tr[data-{field}]:not([data-{field}={_quoted(value)}]){{display:none}}")
            if field == "document":  # the other columns step back
                rules.append(f"{chosen} .filters td:not(:nth-child({place + 3})){{color:var(--muted)}}")
    return "".join(rules)


def _sum(chapter: str) -> str:
    """The custom property that holds how many statements of the chapter have the verdict and the document chosen."""
    return f"--of-{chapter}"


def _radio(field: str, value: str) -> str:
    return f"[name={field}][value={_quoted(value)}]"


def _quoted(value: str) -> str:
    return f'"{html.escape(value)}"'
