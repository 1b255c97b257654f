"""Reading a list of entries from YAML so that a slip in it is reported with the entry and the key."""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

Entry = TypeVar("Entry")


def find(identifier: str, entries: Mapping[str, Entry], file: str) -> Entry:
    """The entry of that id; raises ValueError with the nearest ids of `file`."""
    if identifier not in entries:
        nearest = difflib.get_close_matches(str(identifier), entries, n=3) or list(entries)[:3]
        raise ValueError(f"identifier {identifier!r} is not in {file}; near to it: {', '.join(nearest)}")
    return entries[identifier]


def read_once(path: Path, parse: Callable[[Path], dict[str, Entry]]) -> dict[str, Entry]:
    """What `parse` makes of the file; parsed again only when the file changed."""
    status = path.stat()
    return _parsed(path, parse, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _parsed(path: Path, parse: Callable[[Path], dict[str, Entry]], mtime: int, size: int) -> dict[str, Entry]:
    return parse(path)


def read_entries(
    path: Path, *, required: Sequence[str], optional: Sequence[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (where, entry) for each entry of a YAML list; `where` is how to name the entry in an error.

    Raises TypeError when the file is no list of mappings or an id is no text, ValueError for a key that is missing,
    empty, not accepted or given twice, and for an id that occurs twice.
    """
    entries = _load(path)
    if not isinstance(entries, list):
        raise TypeError(f"{path.name} must be a list of entries, got {type(entries).__name__}")
    seen = set()
    for place, entry in enumerate(entries, start=1):
        where = f"{path.name}, entry {place}"
        if not isinstance(entry, Mapping):
            raise TypeError(f"{where} must be a mapping, got {type(entry).__name__}")
        where = f"{where} ({entry.get('id')})"
        for key in entry:
            if key not in (*required, *optional):
                raise ValueError(f"{where} has {key!r}; accepted are {', '.join((*required, *optional))}")
        for key in required:
            if key not in entry:
                raise ValueError(f"{where} lacks {key!r}")
        for key, value in entry.items():
            if value is None:
                raise ValueError(f"{where}: {key} is empty; leave it out or fill it in")
        text(where, "id", entry["id"])
        if entry["id"] in seen:
            raise ValueError(f"{where} has an id that is taken")
        seen.add(entry["id"])
        yield where, dict(entry)


def _load(path: Path) -> Any:
    """What a YAML file holds. PyYAML alone keeps the last of two equal keys and says nothing."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        def construct_mapping(self, node, deep=False):
            keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            double = [key for place, key in enumerate(keys) if key in keys[:place]]
            if double:
                line = node.start_mark.line + 1
                raise ValueError(f"{path.name}: the entry or mapping in line {line} has {double[0]!r} twice")
            return super().construct_mapping(node, deep)

    return yaml.load(path.read_text(encoding="utf-8"), Loader)


def text(where: str, key: str, value: Any) -> str:
    """`value` without blanks around it; raises TypeError when it is no text."""
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{where}: {key} must be text (numbers in quotes), got {value!r}")
    return value.strip()
