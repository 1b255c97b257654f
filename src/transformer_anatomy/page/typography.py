"""A little mathematics in a sentence: W_Q, d_model and dₖ get true subscripts, e^0.4, e^(5/8) and 10⁻⁷ superscripts."""

import html
import re
import unicodedata
from collections.abc import Iterator

_MARKS = re.compile(
    r"(?:(?<=(?<![\w])[^\W\d_])|(?<=‖))_(?P<sub>[^\Wᵀ]+)"  # one letter alone: names such as top_k_accuracy stay
    r"|(?P<low>[₀-₋ₐ-ₜᵢⱼ]+)"
    r"|\^\((?P<group>[^()]+)\)|\^(?P<sup>−?\w+(?:\.\d+)?)"
    r"|(?P<high>[¹²³⁰⁴-⁹⁺⁻ⁿᵀ]+)"
)
SMALL = 'font-size="9"'
DROP = {"sub": 3, "sup": -4, "": 0}  # px, in the text of a strip


def marked(text: str) -> str:
    """`text` as HTML."""
    escaped = ((kind, html.escape(words)) for kind, words in parts(text))
    return "".join(f"<{kind}>{words}</{kind}>" if kind else words for kind, words in escaped)


def marked_svg(text: str) -> str:
    """`text` as the content of an SVG text element, where HTML's tags do not exist."""
    made, height = "", 0
    for kind, words in parts(text):
        shift, height = DROP[kind] - height, DROP[kind]
        size = f" {SMALL}" if kind else ""
        made += f'<tspan dy="{shift}"{size}>{html.escape(words)}</tspan>' if shift else html.escape(words)
    return made


def parts(text: str) -> Iterator[tuple[str, str]]:
    """("sub", "sup" or "", words) from left to right; a sum of a letter and a number does not break across lines."""
    text = re.sub(r"(?<![\w)])-(?=\d)", "−", text)
    text = re.sub(r"(?<=[\w)]) ([+−±]) (?=\d)", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
    text = re.sub(r"(?<=\d) %", "\N{NO-BREAK SPACE}%", text)
    end = 0
    for mark in _MARKS.finditer(text):
        if mark.start() > end:
            yield "", text[end : mark.start()]
        kind = "sub" if mark["sub"] or mark["low"] else "sup"
        yield kind, unicodedata.normalize("NFKC", next(filter(None, mark.groups())))
        end = mark.end()
    if end < len(text):
        yield "", text[end:]
