"""What a run has shown so far."""

import math

import pandas as pd

COLUMNS = ("step", "learning_rate", "loss", "gradient_norm")


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
        """What an evaluation after the latest step gave. Raises `ValueError` for the name of a column that is there."""
        if taken := [name for name in figures if name in COLUMNS]:
            raise ValueError(
                f"evaluate must not name a figure {taken[0]!r}, that is a column of the history: "
                f"call it 'validation_{taken[0]}'"
            )
        self.figures[len(self) - 1] = figures

    def stalled(self, patience: int | None) -> bool:
        """Whether the first figure was not lower in the last `patience` evaluations than ever before; NaN never is."""
        values = [next(iter(figures.values())) for figures in self.figures.values()]
        values = [math.inf if math.isnan(value) else value for value in values]
        return patience is not None and len(values) > patience and min(values[-patience:]) >= min(values[:-patience])

    def frame(self) -> pd.DataFrame:
        """A row for each step; a figure is NaN where the model was not evaluated."""
        steps = pd.DataFrame(self.rows, columns=COLUMNS).astype({"step": int})
        return steps.join(pd.DataFrame(list(self.figures.values()), index=list(self.figures)))
