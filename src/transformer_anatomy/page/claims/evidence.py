"""What was measured for one statement, and whether that supports a verdict."""

from dataclasses import asdict, dataclass
from typing import Any

from transformer_anatomy.page.claims.bands import Band
from transformer_anatomy.page.claims.ledger import Statement
from transformer_anatomy.page.numerals import value_text


class ClaimError(AssertionError):
    """The measurement no longer supports the verdict that the ledger records."""


@dataclass(frozen=True)
class Evidence:
    """One number a seed; where the condition fails, the same and a label; the band asked for by the chapter.

    Numbers that are ints are counts: they are shown as they are, because a mean of counts is none.
    """

    measured: tuple[float, ...]
    otherwise: tuple[float, ...] = ()
    label: str = ""
    criterion: Band | None = None
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """What the ledger keeps of the evidence, as JSON can hold it."""
        return {name: value for name, value in asdict(self).items() if name != "note"}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Evidence":
        """The evidence that `to_dict` wrote; other keys of `data` are left alone."""
        criterion = data["criterion"] and Band(**data["criterion"])
        return cls(tuple(data["measured"]), tuple(data["otherwise"]), data["label"], criterion)


def support(entry: Statement, evidence: Evidence) -> None:
    """Raises ClaimError unless `evidence` supports the verdict of `entry`.

    Raises ValueError when nothing could contradict it, or when `otherwise` and the verdict do not go together.
    """
    says, criterion = entry.says, evidence.criterion
    if entry.unchecked:
        raise ValueError(f"{entry.id} is recorded as unchecked ({entry.unchecked}): remove that, or the claim")
    if entry.verdict == "opinion":
        raise ValueError(f"{entry.id} is recorded as an opinion, and no measurement decides an opinion")
    if says is None and criterion is None:
        raise ValueError(
            f"nothing could make {entry.id} fail: give it 'says' in claims.yml, or the claim near and within, above, "
            "below or between"
        )
    if bool(evidence.otherwise) != (entry.verdict == "holds under a condition"):
        raise ValueError(
            f"otherwise=(value, label) belongs to 'holds under a condition' and is needed there; {entry.id} has the "
            f"verdict {entry.verdict!r}"
        )
    inside = [says is None or value in says for value in evidence.measured]
    band = says or criterion
    if entry.verdict.startswith("holds") and not all(inside):
        raise _error(entry, evidence.measured, "must lie in", says)
    if any(value in band for value in evidence.otherwise):
        raise _error(entry, evidence.otherwise, f"({evidence.label}) must lie outside", band)
    if says and entry.verdict in ("slip", "contradicted") and any(inside):
        raise _error(entry, evidence.measured, "must lie outside", says)
    if says and entry.verdict == "unsupported" and all(inside):
        raise _error(entry, evidence.measured, "must not all lie in", says)
    if criterion and not all(value in criterion for value in evidence.measured):
        raise _error(entry, evidence.measured, "must lie in", criterion)


def falls(entry: Statement, evidence: Evidence) -> str:
    """The sentence that says which measurement would overturn the verdict."""
    says, subject, ways = entry.says, entry.quantity, []
    if says and entry.verdict.startswith("holds"):
        ways.append((subject, says.leaving))
    if evidence.otherwise:
        ways.append((f"the hollow dot ({evidence.label})", (says or evidence.criterion).entering))
    implied = says and evidence.criterion and says.apart_from(evidence.criterion)  # by leaving the criterion, below
    if says and entry.verdict in ("slip", "contradicted") and not implied:
        ways.append((subject, says.entering))
    if entry.verdict == "unsupported":
        ways.append(("a source", "appears"))
        if says:
            ways.append(("every measurement" if len(evidence.measured) > 1 else subject, says.entering))
    if evidence.criterion:
        ways.append((subject, evidence.criterion.leaving))
    before = ["", *(name for name, _ in ways[:-1])]
    clauses = [f"{'it' if name == last else name} {does}" for last, (name, does) in zip(before, ways, strict=True)]
    return f"Falls if {', or if '.join(clauses)}."


def _error(entry: Statement, values: tuple[float, ...], demand: str, band: Band) -> ClaimError:
    return ClaimError(
        f"{entry.id} ({entry.where}) is recorded as {entry.verdict!r}: {entry.quantity} {demand} “{band.text}”, but is "
        f"{', '.join(map(value_text, values))}. Correct the experiment, or the entry in claims.yml."
    )
