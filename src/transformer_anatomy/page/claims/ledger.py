"""The ledger: book/claims.yml, every statement of the documents with its verdict."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from transformer_anatomy.page.claims.bands import BOUNDS, Band, band
from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.entries import find, read_entries, read_once, text

KINDS = ("identity", "arithmetic", "experiment", "pretrained", "literature", "analogy")
VERDICTS = ("holds", "holds under a condition", "slip", "contradicted", "unsupported", "opinion")


@dataclass(frozen=True)
class Statement:
    """One entry of the ledger. `says` is the band of numbers that the document's words amount to.

    `unchecked` says why no cell can check the statement here; `quantity` names what is measured, for sentences.
    """

    id: str
    document: str
    section: str
    statement: str
    kind: str
    verdict: str
    chapter: str
    says: Band | None = None
    right: str = ""
    sources: tuple[str, ...] = ()
    unchecked: str = ""
    quantity: str = "the measurement"

    @property
    def where(self) -> str:
        """Where the statement stands: ``000 §3.4``."""
        return f"{self.document} {'§' if self.section[0].isdigit() else ''}{self.section}"


def statement(identifier: str) -> Statement:
    """The entry of that id in the ledger of the chapter that runs; raises ValueError with the nearest ids."""
    return find(identifier, read_ledger(), "claims.yml")


def read_ledger(path: Path | None = None) -> dict[str, Statement]:
    """Id to Statement, in the order of the file; read again only when the file changed.

    Raises ValueError or TypeError that names the entry and the key, FileNotFoundError without a file.
    """
    return read_once(path or course_file("claims.yml"), _read)


def _read(path: Path) -> dict[str, Statement]:
    names = [field.name for field in fields(Statement)]
    optional = ["says", "right", "sources", "unchecked", "quantity"]
    required = [name for name in names if name not in optional]
    return {
        entry["id"]: _statement(where, entry)
        for where, entry in read_entries(path, required=required, optional=optional)
    }


def _statement(where: str, entry: dict[str, Any]) -> Statement:
    checked = "says" in entry
    says, sources = entry.pop("says", None), entry.pop("sources", [])
    words = {key: text(where, key, value) for key, value in entry.items()}
    for key, accepted in (("kind", KINDS), ("verdict", VERDICTS)):
        if words[key] not in accepted:
            raise ValueError(f"{where}: {key} must be one of {', '.join(accepted)}, got {words[key]!r}")
    if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
        raise TypeError(f"{where}: sources must be a list of keys of references.bib, got {sources!r}")
    if not checked:
        return Statement(**words, sources=tuple(sources))
    if not isinstance(says, Mapping):
        raise TypeError(f"{where}: says must be a mapping such as {{near: 2, within: 0.1}}, got {says!r}")
    if "unchecked" in words:
        raise ValueError(f"{where} has both 'says' and 'unchecked': a statement is checked or it is not")
    if words["verdict"] == "opinion":
        raise ValueError(f"{where} has 'says', but no measurement decides an opinion")
    made = band(f"{where}: says", says)
    if made is None:
        raise ValueError(f"{where}: says gives no bound; accepted are {', '.join(BOUNDS)}")
    return Statement(**words, says=made, sources=tuple(sources))
