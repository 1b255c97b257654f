"""The theme's icons, as few as the book uses, within its style sheet: that names 1900, and its fonts draw them all."""

import base64
import io
import re
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

STYLE = "styles/pydata-sphinx-theme.css"
ICON = re.compile(r"\bfa-[\w-]+")
RULE = re.compile(r'((?:\.fa-[\w-]+:before,?)+)\{content:"[^"]*"\}')
FONT = re.compile(r'url\([^)]*/fa-[\w-]+\.woff2\) format\("woff2"\),url\(\.\./([^)]*\.ttf)\) format\("truetype"\)')
CODE = re.compile(r'"\\([0-9a-f]{1,6})"')
UNUSED = ("scripts/fontawesome.js*", "vendor/fontawesome/webfonts/*", "**/*.map")


def setup(app: Sphinx) -> None:
    """Connects what cuts the icons to Sphinx."""
    app.connect("build-finished", _cut)


def _cut(app: Sphinx, error: Exception | None) -> None:
    static = Path(app.outdir) / "_static"
    if error is not None or app.builder.format != "html" or not (static / STYLE).exists():
        return
    names = used_icons(Path(app.outdir))
    sheet = RULE.sub(lambda rule: rule[0] if names & set(ICON.findall(rule[1])) else "", _read(static / STYLE))
    text = sheet + "".join(_read(file) for file in (static / "styles").glob("*.css") if file != static / STYLE)
    drawn = {chr(int(code, 16)) for code in CODE.findall(text)} | {c for c in text if "\ue000" <= c <= "\uf8ff"}
    (static / STYLE).write_text(FONT.sub(lambda font: font_of(static / font[1], drawn), sheet), encoding="utf-8")
    for file in {file for pattern in UNUSED for file in static.glob(pattern)}:
        file.unlink()


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def used_icons(book: Path) -> set[str]:
    """The names of all icons in the pages and scripts of a built book."""
    files = [*book.rglob("*.html"), *book.glob("_static/scripts/*theme.js")]
    return {name for file in files for name in ICON.findall(_read(file))}


def font_of(source: Path, characters: set[str]) -> str:
    """The font `source` for a style sheet, as WOFF2 with no glyphs but those of `characters`, as far as it has them."""
    font, subsetter, file = TTFont(source), Subsetter(Options(notdef_outline=True)), io.BytesIO()
    subsetter.populate(text="".join(characters))
    subsetter.subset(font)
    font.flavor = "woff2"
    font.save(file)
    return f'url(data:font/woff2;base64,{base64.b64encode(file.getvalue()).decode()}) format("woff2")'
