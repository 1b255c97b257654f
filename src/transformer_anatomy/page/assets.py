"""The script and the style of the figures, for an output that has to bring them along."""

from functools import cache
from importlib.resources import files


@cache
def script(live: bool = False) -> str:
    """explore.js, a classic script; with live.js at its end it is the module that JupyterLab loads."""
    return "".join(_text(name) for name in (("explore.js", "live.js") if live else ("explore.js",)))


@cache
def style() -> str:
    """tokens.css and explore.css."""
    return _text("tokens.css") + _text("explore.css")


def _text(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")
