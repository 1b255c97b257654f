"""How numbers are written: measured values with two decimals where that says enough, chosen ones as they were typed."""

import math

MINUS = "−"


def value_text(value: float) -> str:
    """A measured value: 64.0, 1.49, 0.57, 0.0031, 2.4e-8, 12,400; with a true minus sign."""
    size = abs(value)
    if size >= 1e6 or 0 < size < 0.001:
        mantissa, exponent = f"{value:.1e}".split("e")
        text = f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    elif size >= 1000:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 0.1 or size == 0:
        text = f"{value:.2f}"
    else:
        text = f"{value:.2g}" if size < 0.01 else f"{value:.3f}".removesuffix("0")
    return text.replace("-", MINUS, text.startswith("-"))


def level_text(value: float, span: float) -> str:
    """A value on a scale `span` wide, where all have as many decimals: two, unless the scale needs more or fewer."""
    decimals = 0 if span >= 1000 else 1 if span >= 100 else 2 if span >= 0.2 else 2 - math.floor(math.log10(5 * span))
    text = f"{value:,.{min(decimals, 9)}f}"
    return (text if float(text.replace(",", "")) else text.lstrip("-")).replace("-", MINUS)


def bound_text(value: float) -> str:
    """A number that somebody chose, no longer than it was written: 2, 0.98, 1e-6, −5."""
    text = f"{value:.6g}"
    mantissa, e, exponent = text.partition("e")
    text = f"{mantissa}e{int(exponent)}" if e else text
    return text.replace("-", MINUS, text.startswith("-"))
