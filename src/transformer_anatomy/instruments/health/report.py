"""What `examine` found, as a table, as text, as data and as a picture."""

from dataclasses import asdict, dataclass, fields
from html import escape

from transformer_anatomy.instruments.health.figures import LayerFigures
from transformer_anatomy.instruments.health.finding import Finding

HEADINGS = {
    "gradient": "gradient",
    "relative_gradient": "gradient · weights / loss",
    "similarity": "token similarity",
    "size": "stream size",
    "entropy": "attention entropy",
    "dead": "dead neurons",
    "update": "update / weights",
}


@dataclass(frozen=True)
class HealthReport:
    """The `loss`, the figures of each layer of each stack in `stacks`, and the `findings`, the likely cause first."""

    loss: float
    stacks: tuple[tuple[LayerFigures, ...], ...]
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether there is no finding."""
        return not self.findings

    @property
    def verdict(self) -> str:
        """The result in one or two sentences."""
        n_layers = sum(map(len, self.stacks))
        looked_at = f"{n_layers} layers" if n_layers else "No repeated layers found; the model as a whole"
        if self.healthy:
            return f"{looked_at}: nothing wrong found."
        first, *others = self.findings
        also = sorted({finding.fault for finding in others} - {first.fault})
        return f"{looked_at}: {first.fault} at {first.where or 'the loss'}: {first.evidence}." + (
            f" Also: {', '.join(also)}." if also else ""
        )

    def to_dict(self) -> dict[str, object]:
        """Everything as plain numbers, strings, lists and dicts, ready for JSON."""
        return {
            "loss": self.loss,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
            "stacks": [[asdict(layer) for layer in stack] for stack in self.stacks],
        }

    def __str__(self) -> str:
        lines = [self.verdict, ""]
        for finding in self.findings:
            lines.append(f"  {finding.fault}: {finding.where or 'the loss'}: {finding.evidence}")
        for names, rows in self._tables():
            table = [["layer", *(HEADINGS[name] for name in names)], *rows]
            widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
            lines += ["", *("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in table)]
        return "\n".join(lines).rstrip()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        findings = "".join(
            f"<li><strong>{f.fault}</strong> at <code>{escape(f.where or 'the loss')}</code>: {escape(f.evidence)}</li>"
            for f in self.findings
        )
        tables = "".join(
            "<table><caption>Layer by layer</caption><thead><tr><th scope='col'>layer</th>"
            + "".join(f"<th scope='col'>{HEADINGS[name]}</th>" for name in names)
            + "</tr></thead><tbody>"
            + "".join(
                f"<tr><th scope='row'><code>{escape(row[0])}</code></th>"
                + "".join(f"<td>{c}</td>" for c in row[1:])
                + "</tr>"
                for row in rows
            )
            + "</tbody></table>"
            for names, rows in self._tables()
        )
        return f"<div class='health-report'><p>{escape(self.verdict)}</p><ul>{findings}</ul>{tables}</div>"

    def _tables(self):
        """For each stack the names of the figures that it has, and a row of text for each layer."""
        for stack in self.stacks:
            names = [
                f.name for f in fields(LayerFigures)[1:] if any(getattr(layer, f.name) is not None for layer in stack)
            ]
            yield names, [[layer.path, *(_text(getattr(layer, name)) for name in names)] for layer in stack]


def _text(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
