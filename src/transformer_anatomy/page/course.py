"""Where the course keeps its files, and whether its book is being built."""

import os
from pathlib import Path


def building_book() -> bool:
    """True in the kernels of a book build: the page then carries scripts and styles once, so outputs leave them out."""
    return os.environ.get("TRANSFORMER_ANATOMY_BOOK") == "1"


def course_file(name: str, start: str | Path | None = None) -> Path:
    """Path of ``book/<name>``, looked for from `start` (the working directory) upwards.

    Raises FileNotFoundError when no folder on the way, and no `book` folder beside it, holds the file.
    """
    start = Path(start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for path in (folder / name, folder / "book" / name):
            if path.is_file():
                return path
    clone = Path(__file__).parents[3] / "book"  # where the library was installed from, if that was a clone
    raise FileNotFoundError(
        f"{name} is neither in {start.name or start} nor above it, nor in a folder `book` there; run the chapter "
        "in the folder `book` of the course. In a notebook that was opened elsewhere, run this in a cell first: "
        f"%cd {clone if (clone / name).is_file() else 'path/to/the/course/book'}"
    )
