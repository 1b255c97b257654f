"""One fault of a model, with what speaks for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A fault by its name, `where` it is (a path in the model), and the `evidence` in words, with the numbers."""

    fault: str
    where: str
    evidence: str
