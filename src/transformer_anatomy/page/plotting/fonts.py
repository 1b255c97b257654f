"""Text that the installed fonts can draw: Chinese, arrows and all, and never an empty box."""

from functools import cache

# Families with Chinese, in the order of preference; the first that is installed is used.
CHINESE = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",  # how matplotlib names the Noto collection, after its first face
    "Source Han Sans SC",
    "PingFang SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "SimHei",
    "Arial Unicode MS",
)


@cache
def chinese_family() -> str | None:
    """Name of an installed font family with Chinese characters, or None."""
    from matplotlib.font_manager import get_font_names

    installed = set(get_font_names())
    return next((name for name in CHINESE if name in installed), None)


def families() -> list[str]:
    """What matplotlib tries for each character in turn; DejaVu Sans comes with it and has arrows, minus and Greek."""
    return ["sans-serif", "DejaVu Sans", *filter(None, [chinese_family()])]


def drawable(text: str) -> str:
    """`text` with each character that none of the installed families has replaced by ``?``."""
    if text.isascii():
        return text
    return "".join(c if c == "\n" or any(ord(c) in _characters(f) for f in families()[1:]) else "?" for c in text)


@cache
def _characters(family: str) -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(family)).get_charmap())
