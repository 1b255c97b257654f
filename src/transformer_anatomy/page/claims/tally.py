"""How many statements have a verdict, stand in a document, belong to a chapter: as numbers, and as CSS that follows."""

from collections import Counter
from collections.abc import Mapping, Sequence

from transformer_anatomy.page.claims.ledger import VERDICTS, Statement

FIELDS = ("verdict", "document", "chapter")


class Tally:
    """Counts of statements by verdict, document and chapter; `values` has those that occur, in their order."""

    def __init__(self, statements: Sequence[Statement], chapters: Sequence[str]):
        self.counts = Counter(tuple(getattr(entry, field) for field in FIELDS) for entry in statements)
        orders = (VERDICTS, sorted({entry.document for entry in statements}), chapters)
        self.values: Mapping[str, list[str]] = {
            field: [value for value in order if self.total(**{field: value})]
            for field, order in zip(FIELDS, orders, strict=True)
        }

    def total(self, **fixed: str) -> int:
        """The number of statements with these values."""
        return sum(n for key, n in self.counts.items() if self._agrees(key, fixed))

    def live(self, by: Sequence[str], **fixed: str) -> str:
        """The same as a CSS sum that follows what is chosen in the fields `by`, through their flags."""
        sums: Counter[tuple[str, ...]] = Counter()
        for key, n in self.counts.items():
            if self._agrees(key, fixed):
                sums[tuple(self.flag(f, v) for f, v in zip(FIELDS, key, strict=True) if f in by)] += n
        return f"calc({' + '.join('*'.join([str(n), *map(_used, flags)]) for flags, n in sorted(sums.items())) or 0})"

    def flag(self, field: str, value: str) -> str:
        """The custom property that is 1 while statements with this value are shown, else 0."""
        return f"--{field[0]}{self.values[field].index(value)}"

    @staticmethod
    def _agrees(key: tuple[str, ...], fixed: Mapping[str, str]) -> bool:
        return all(key[FIELDS.index(field)] == value for field, value in fixed.items())


def _used(flag: str) -> str:
    return f"var({flag})"
