"""What `examine` found, as a table, as text, as data and as a picture."""

from dataclasses import asdict, dataclass

from transformer_anatomy.instruments.health.figures import LayerFigures
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.markup import report_html
from transformer_anatomy.instruments.health.picture import draw_stacks
from transformer_anatomy.instruments.health.table import layer_rows


@dataclass(frozen=True)
class HealthReport:
    """The `loss`, the figures of each layer of each stack in `stacks`, and the `findings`, the likely cause first.

    `notes` say in words what may be as it should: what took no part in the loss, and what could not be judged.
    """

    loss: float
    stacks: tuple[tuple[LayerFigures, ...], ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether there is no finding."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The result in one or two sentences."""
        n_layers = sum(map(len, self.stacks))
        by_layer = "vanishing, exploding and collapsed were not judged"
        looked_at = f"{n_layers} layers" if n_layers else f"No repeated layers found, so {by_layer}; all else"
        if self.healthy:
            return f"{looked_at}: nothing wrong found."
        first, *others = self.findings
        also = sorted({finding.fault for finding in others} - {first.fault})
        return f"{looked_at}: {first.fault} at {first.place}: {first.evidence}." + (
            f" Also: {', '.join(also)}." if also else ""
        )

    def plot(self):
        """Gradient, token similarity and attention entropy by layer, as small multiples that show themselves.

        Raises `ValueError` for a report without repeated layers.
        """
        return draw_stacks(self.stacks)

    def to_dict(self) -> dict[str, object]:
        """Everything as plain numbers, strings, lists and dicts, ready for JSON; `loss` may be NaN or infinite."""
        return {
            "loss": self.loss,
            "verdict": self.verdict,
            "findings": [asdict(finding) | {"hint": finding.hint} for finding in self.findings],
            "notes": list(self.notes),
            "stacks": [[asdict(layer) for layer in stack] for stack in self.stacks],
        }

    def __str__(self) -> str:
        lines = [self.verdict]
        for finding in self.findings:
            lines += ["", f"{finding.fault} at {finding.place}", f"    {finding.evidence}", f"    {finding.hint}"]
        lines += ["", *(f"Note: {note}." for note in self.notes)] if self.notes else []
        for stack in self.stacks:
            table = layer_rows(stack)
            widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
            aligned = (
                "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table
            )
            lines += ["", *aligned]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return report_html(self.verdict, self.findings, self.notes, self.stacks)
