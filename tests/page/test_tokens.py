"""The tokens of the look on both papers: what is read, and what only has to be seen."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from transformer_anatomy.page.plotting.themes import THEMES, colours

READ = ["ink", "muted", "query", "key-text", "value-text", "gradient-text", "stream"]
SEEN = ["edge", "focus"]  # edges of controls and the ring around what has the focus


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(color: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "panel"])
@pytest.mark.parametrize("names, least", [(READ, 4.5), (SEEN, 3)])
def test_tokens_stand_out_from_the_papers(theme, ground, names, least):
    tokens = colours(theme)
    assert [(name, ratio) for name in names if (ratio := contrast(tokens[name], tokens[ground])) < least] == []
