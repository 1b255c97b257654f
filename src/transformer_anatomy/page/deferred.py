"""What a reader may never scroll to is fetched when it comes near: pictures, and all frames of a figure but the first.

The outputs of a notebook bring both along. In the book they stand beside the page, in files named by their content.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = "_static/figures"
IMAGE = re.compile(r"<img\b(?=[^>]*\bsrc=\"data:image/svg)")
PICTURE = re.compile(r'data:image/svg\+xml;base64,([^"\s]*)')
FIGURE = re.compile(
    r'(<figure class="explore\b[^>]*)(>.*?<script type="application/vnd\.explore\+json">)(.*?)(</script>)', re.DOTALL
)
MOUNT = "<script>anatomyExplore.mount(document.currentScript.parentNode)</script>"


def setup(app: Sphinx) -> None:
    """Connects what moves pictures and frames out of the pages to Sphinx."""
    app.connect("html-page-context", _defer)
    app.connect("build-finished", _remove_what_no_page_names)


def _defer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if app.builder.format != "html" or "body" not in context:
        return
    folder = Path(app.outdir) / FOLDER

    def put(content: str, kind: str) -> str:
        """The address, seen from this page, of a file with this content."""
        name = f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.{kind}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
        return context["pathto"](f"{FOLDER}/{name}", True)

    def picture(data: re.Match) -> str:
        return put(base64.b64decode(data[1]).decode(), "svg")

    def figure(found: re.Match) -> str:
        head, between, stored, end = found.groups()
        first, all_frames = first_and_all(json.loads(stored))
        address = put(f"document.currentScript.receive({as_json(all_frames)})", "js")
        return f'{head} data-frames="{address}"{between}{as_json(first)}{end}{MOUNT}'

    body = FIGURE.sub(figure, context["body"])
    # A browser reserves the place of a picture by its width and height, which every one has.
    context["body"] = PICTURE.sub(picture, IMAGE.sub('<img loading="lazy"', body))


def first_and_all(spec: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A figure's data with the frame that it opens with at every setting; and what takes its place: all frames."""
    start = 0
    for control in spec["controls"]:
        start = start * len(control["values"]) + control["start"]

    def only(stored: Mapping[str, list]) -> dict[str, list]:
        return {"items": [stored["items"][stored["places"][start] if "places" in stored else 0]]}

    everything = {name: spec[name] for name in ("entries", "labels", "readouts")}
    first = {
        "entries": [entry | {"data": only(entry["data"])} for entry in spec["entries"]],
        "labels": {axis: only(stored) for axis, stored in spec["labels"].items()},
        "readouts": only(spec["readouts"]),
    }
    return dict(spec) | first, everything


def as_json(value: Any) -> str:
    """Compact, and with no "<" that could end the element which holds it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _remove_what_no_page_names(app: Sphinx, error: Exception | None) -> None:
    folder = Path(app.outdir) / FOLDER
    if error is not None or not folder.exists():
        return
    pages = "".join(page.read_text(encoding="utf-8") for page in Path(app.outdir).rglob("*.html"))
    for file in folder.iterdir():
        if file.name not in pages:
            file.unlink()
