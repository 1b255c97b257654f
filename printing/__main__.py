"""Prints the built book: python -m printing [the folder of _config.yml and _toc.yml]."""

import sys
import time
from pathlib import Path

from printing.book import print_book
from printing.sheets import chromium


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    html, target = root / "_build" / "html", root / "_build" / "anatomy-of-the-transformer.pdf"
    if not (html / "index.html").exists():
        sys.exit(f"There is no built book in {html}: make book")
    begun = time.perf_counter()
    with chromium() as browser:
        book = print_book(browser, root, html)
    book.write(target)
    size, seconds = target.stat().st_size / 1e6, time.perf_counter() - begun
    print(f"{len(book.pages)} sheets, {size:.1f} MB, printed in {seconds:.0f} s")


if __name__ == "__main__":
    main()
