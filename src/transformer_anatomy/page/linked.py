"""What a page links: of the scripts and styles that the theme, its extensions and we have, only those that it uses."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from transformer_anatomy.page.assets import STATIC

try:
    import minify
except ImportError:  # tdewolff-minify has no build for a Mac with Apple silicon: there the scripts stay as written
    minify = None

# Our scripts by what asks for them in a page. A figure is drawn while its page is read: its script comes before it.
SCRIPTS = {
    "layers.js": (r'"kind":"layers"', {}),
    "explore.js": (r'<figure class="explore', {}),
    "answers.js": (r'class="(check|predict)\b', {"defer": "defer"}),
    "reach.js": ("", {"defer": "defer"}),  # this and the next on every page
    "print.js": ("", {"defer": "defer"}),
}
# Others' scripts and styles by a word in their name or body, and what would use them.
OTHERS = {
    "thebe": r"thebe-launch",
    "toggle": r'class="(toggle|admonition dropdown|[^"]* toggle)\b',
    "design-tabs": r'class="sd-tab-',
    "MathJax": r'class="math\b',
    "mathjax": r'class="math\b',
}
FONT = "_static/mathjax/output/chtml/fonts/woff-v2/MathJax_{}.woff"
FONTS = ("Zero", "Main-Regular", "Main-Bold", "Math-Italic", "AMS-Regular", *(f"Size{k}-Regular" for k in (1, 2, 3, 4)))


def setup(app: Sphinx) -> None:
    """Connects what chooses scripts and styles to Sphinx."""
    app.connect("builder-inited", _minify_scripts)
    app.connect("html-page-context", _choose, priority=900)  # after all that add something


def _minify_scripts(app: Sphinx) -> None:
    if app.builder.format != "html":
        return
    app.builder.templates.environment.filters["without_scripts"] = without_scripts
    folder = Path(app.doctreedir) / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    for name in SCRIPTS:
        written = (STATIC / name).read_text(encoding="utf-8")
        shorter = minify.string("application/javascript", written) if minify else written
        (folder / name).write_text(shorter, encoding="utf-8")
    app.config.html_static_path.append(str(folder))


def without_scripts(head: str, *names: str) -> str:
    """`head` without the script elements whose address has one of `names` in it."""
    named = "|".join(map(re.escape, names))
    return re.sub(rf'<script\b[^>]*\bsrc="[^"]*(?:{named})[^>]*></script>\s*', "", head)


def _choose(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    body = context.get("body", "")
    for priority, (name, (wanted, attributes)) in enumerate(SCRIPTS.items(), 400):
        if re.search(wanted, body):
            app.add_js_file(name, priority=priority, **attributes)
    if not re.search(OTHERS["mathjax"], body):
        # Nothing to set here: the browser fetches it for the next page, when it has nothing else to do.
        app.add_js_file(app.config.mathjax_path)  # as on a page with formulas; `used` takes it away again
        tags = "".join(context["js_tag"](script) for script in context["script_files"])
        fonts = [context["pathto"](FONT.format(name), True) for name in FONTS]
        context["prefetched"] = [*re.findall(r'src="([^"]*/mathjax/[^"]*)"', tags)[:1], *fonts]
    for kind in ("script_files", "css_files"):
        context[kind] = list(used(context.get(kind, ()), body))


def used(assets: Iterable, body: str) -> Iterable:
    """Of `assets`, as Sphinx collects them for a page, those that its `body` uses, or that nothing is known of."""
    for asset in assets:
        words = f"{getattr(asset, 'filename', asset)} {getattr(asset, 'attributes', {}).get('body', '')}"
        known = [wanted for name, wanted in OTHERS.items() if name in words]
        if not known or any(re.search(wanted, body) for wanted in known):
            yield asset
