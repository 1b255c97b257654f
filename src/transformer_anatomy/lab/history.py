"""What a run has shown so far."""

import math

import pandas as pd

COLUMNS = ("step", "learning_rate", "loss", "gradient_norm")
BETTER = ("lower", "higher")


class History:
    """A row of numbers for each step, and figures by name after those steps at which the model was evaluated."""

    def __init__(self, rows: list[tuple[float, ...]] = (), figures: dict[int, dict[str, float]] | None = None):
        self.rows, self.figures = list(rows), dict(figures or {})

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rate: float, loss: float, gradient_norm: float) -> None:
        """The next step."""
        self.rows.append((len(self), rate, loss, gradient_norm))

    def evaluate(self, figures: dict[str, float]) -> None:
        """What an evaluation after the latest step gave; the name of a column that is there gets "validation_" before.

        Raises `ValueError` where the figure is called that already.
        """
        columns = {name: column(name) for name in figures}
        if len(set(columns.values())) < len(columns):
            raise ValueError(f"evaluate must not give two figures one name, got {', '.join(map(repr, figures))}")
        self.figures[len(self) - 1] = {columns[name]: figure for name, figure in figures.items()}

    def watched(self, watch: str | None, better: str | None) -> list[float]:
        """The figure `watch` of every evaluation, the first figure by default, so that less is better; NaN is worst.

        Raises `ValueError` when an evaluation has no such figure, and for an accuracy of which less would be better
        only because nobody said what is.
        """
        values = []
        for figures in self.figures.values():
            name = next(iter(figures)) if watch is None else column(watch)
            if name not in figures:
                raise ValueError(
                    f"watch must be one of {', '.join(map(repr, figures))}, as evaluate gives, got {watch!r}"
                )
            if better is None and "accuracy" in name.lower():
                raise ValueError(f'better must say what is better of {name!r}, which patience watches: "higher"?')
            value = -figures[name] if better == "higher" else figures[name]
            values.append(math.inf if math.isnan(value) else value)
        return values

    def stalled(self, patience: int | None, watch: str | None = None, better: str | None = None) -> bool:
        """Whether what is watched was not better in the last `patience` evaluations than ever before."""
        if patience is None:
            return False
        values = self.watched(watch, better)
        return len(values) > patience and min(values[-patience:]) >= min(values[:-patience])

    def frame(self) -> pd.DataFrame:
        """A row for each step; a figure is NaN where the model was not evaluated."""
        steps = pd.DataFrame(self.rows, columns=COLUMNS).astype({"step": int})
        return steps.join(pd.DataFrame(list(self.figures.values()), index=list(self.figures)))


def column(name: str) -> str:
    """The column of a figure: its name, with "validation_" before it where the history has one of that name."""
    return f"validation_{name}" if name in COLUMNS else name
