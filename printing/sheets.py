"""Pages of the built book, printed by a headless Chromium that reaches nothing but the book's own files."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run", "--disable-quic"]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCALE = 0.86  # 16 px of the screen become 10.3 pt, the smallest text, 11 px, becomes 7.1 pt
COLUMN = 729  # px: the width of the text on A4 between margins of 22 mm, at that scale
PATIENCE = 300_000  # ms: a busy machine still prints
PREPARE = (Path(__file__).parent / "prepare.js").read_text(encoding="utf-8")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The reader's own Chromium: $CHROMIUM, else what is on the path; FileNotFoundError when there is none."""
    names = [os.environ.get("CHROMIUM"), *NAMES]
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        raise FileNotFoundError("no Chromium on this machine: install chromium, or let CHROMIUM name one")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


def print_page(
    browser: Browser, file: Path, book: str, first: int, targets: Sequence[str] = ()
) -> tuple[str, PdfReader]:
    """The title of the page in `file` and its sheets, numbered from `first`, with marks at the ids in `targets`."""
    context = browser.new_context(viewport={"width": COLUMN, "height": 1000}, color_scheme="light", offline=True)
    try:
        page = context.new_page()
        page.goto(file.resolve().as_uri(), timeout=PATIENCE)
        page.emulate_media(media="print")
        title = page.evaluate(PREPARE, {"book": book, "first": first, "targets": list(targets)})
        return title, PdfReader(BytesIO(sheets(page)))
    finally:
        context.close()


def print_markup(browser: Browser, markup: str) -> PdfReader:
    """The sheets of a page that is no file."""
    context = browser.new_context(offline=True)
    try:
        page = context.new_page()
        page.set_content(markup)
        return PdfReader(BytesIO(sheets(page)))
    finally:
        context.close()


def sheets(page) -> bytes:
    return page.pdf(
        format="A4", scale=SCALE, print_background=True, tagged=True, outline=True, prefer_css_page_size=True
    )
