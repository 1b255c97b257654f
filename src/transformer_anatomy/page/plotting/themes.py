"""The colours of the two themes, read from tokens.css, the one place that knows them."""

import re
from functools import cache
from types import MappingProxyType
from typing import Literal

from transformer_anatomy.page.assets import asset

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, Theme] = ("light", "dark")

# The quantities whose colours have a meaning wherever they appear.
MEANINGS = {
    "query": "query",
    "queries": "query",
    "key": "key",
    "keys": "key",
    "value": "value",
    "values": "value",
    "gradient": "gradient",
    "gradients": "gradient",
    "stream": "stream",
}
# Everything else is computed from weights: plum first, then what is told apart from it by lightness.
OTHERS = ("w3", "edge", "w2", "ink")


@cache
def colours(theme: Theme) -> MappingProxyType[str, str]:
    """Token name to hexadecimal colour, for example ``colours("dark")["paper"]``."""
    if theme not in THEMES:
        raise ValueError(f"theme must be one of {THEMES}, got {theme!r}")
    css = asset("tokens.css")
    both = re.findall(r"--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)", css)
    same = re.findall(r"--([\w-]+):\s*(#\w{6});", css)
    side = THEMES.index(theme)
    return MappingProxyType({name: pair[side] for name, *pair in both} | dict(same))


def curve_tokens(names: list[str]) -> dict[str, str]:
    """Curve name to colour token: a name with *gradient*, *keys*... in it takes that meaning's colour."""
    others = iter(OTHERS * (1 + len(names) // len(OTHERS)))
    return {
        name: next((MEANINGS[word] for word in re.findall(r"[a-z]+", name.lower()) if word in MEANINGS), None)
        or next(others)
        for name in names
    }
