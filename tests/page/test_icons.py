import base64
import io
import re
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import pydata_sphinx_theme
import pytest
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

from transformer_anatomy.page import icons

THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"


@pytest.fixture
def cut(tmp_path):
    """The folder of a book with one page that has two icons, and the theme's style sheet in it after the cut."""
    shutil.copytree(THEME, tmp_path / "_static")
    icons_of_page = '<i class="fa-solid fa-moon   fa-lg"></i><span class="fas fa-bars"></span><i class="fab fa-github">'
    (tmp_path / "page.html").write_text(icons_of_page)
    app = MagicMock(spec=Sphinx, builder=MagicMock(format="html"), outdir=tmp_path)
    icons._cut(app, None)
    return app, (tmp_path / "_static" / icons.STYLE).read_text(encoding="utf-8")


def glyphs(sheet: str) -> list[set[int]]:
    """The characters of each font in a style sheet."""
    fonts = re.findall(r'url\(data:font/woff2;base64,([^)]*)\) format\("woff2"\)', sheet)
    return [set(TTFont(io.BytesIO(base64.b64decode(font))).getBestCmap()) for font in fonts]


def code(sheet: str, icon: str) -> int:
    return int(re.search(rf'\.fa-{icon}:before[^{{}}]*\{{content:"\\([0-9a-f]+)"', sheet)[1], 16)


def test_the_icons_of_the_pages_and_of_the_style_sheet_itself_are_drawn(cut):
    _, sheet = cut
    fonts = glyphs(sheet)
    assert len(fonts) == 3
    for icon in ("moon", "bars", "github", "xmark"):  # the last is put there by the theme's script
        assert any(code(sheet, icon) in font for font in fonts), icon
    for character in re.findall(r'--pst-icon-[\w-]+:"(.)"', sheet):
        assert any(ord(character) in font for font in fonts), hex(ord(character))


def test_all_other_icons_are_gone_and_all_other_rules_are_there(cut):
    app, sheet = cut
    original = (THEME / icons.STYLE).read_text(encoding="utf-8")
    assert "fa-anchor:before" in original and "fa-anchor:before" not in sheet
    assert len(sheet) < len(original) - 50_000
    assert icons.FONT.sub("", icons.RULE.sub("", original)) == re.sub(
        r"url\(data:font[^)]*\) format\(\"woff2\"\)", "", icons.RULE.sub("", sheet)
    )
    assert not list(app.outdir.rglob("fontawesome.js*")) and not list(app.outdir.rglob("*.ttf"))


def test_cutting_again_changes_nothing(cut):
    app, sheet = cut
    icons._cut(app, None)
    assert (app.outdir / "_static" / icons.STYLE).read_text(encoding="utf-8") == sheet
