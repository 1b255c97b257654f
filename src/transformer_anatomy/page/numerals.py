"""How numbers are written: measured values with two decimals where that says enough, chosen ones as they were typed."""

import math

MINUS = "−"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def value_text(value: float) -> str:
    """A measured value: 64.0, 1.49, 0.57, 0.0031, 2.4·10⁻⁸, 12,400, 0; an int is a count and stands as it is."""
    return written(digits(value))


def digits(value: float) -> str:
    """What `value_text` shows, as Python writes it: 2.4e-08, 12,400."""
    size = abs(value)
    if isinstance(value, int) or size == 0:
        return f"{int(value):,}"
    if size >= 1e6 or size < 0.001:
        return f"{value:.1e}"
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 0.1:
        return f"{value:.1f}" if size >= 10 else f"{value:.2f}"
    return f"{value:.2g}" if size < 0.01 else f"{value:.3f}".removesuffix("0")


def written(number: str) -> str:
    """A number of Python's as people write it: with a true minus sign, and 10⁻⁶ for 1e-06."""
    mantissa, e, exponent = number.partition("e")
    if e:
        mantissa = mantissa.removesuffix(".0")
        power = "10" + str(int(exponent)).translate(SUPERSCRIPTS)
        number = mantissa.removesuffix("1") + power if mantissa in ("1", "-1") else f"{mantissa}·{power}"
    return number.replace("-", MINUS, number.startswith("-"))


def level_text(value: float, span: float) -> str:
    """A value on a scale `span` wide, where all have as many decimals: two, unless the scale needs more or fewer."""
    decimals = 0 if span >= 1000 else 1 if span >= 100 else 2 if span >= 0.2 else 2 - math.floor(math.log10(5 * span))
    text = f"{value:,.{min(decimals, 9)}f}"
    return (text if float(text.replace(",", "")) else text.lstrip("-")).replace("-", MINUS)


def bound_text(value: float) -> str:
    """A number that somebody chose, no longer than it was written: 2, 0.98, 1e-6, −5; for axes and controls."""
    text = f"{value:.6g}"
    mantissa, e, exponent = text.partition("e")
    text = f"{mantissa}e{int(exponent)}" if e else text
    return text.replace("-", MINUS, text.startswith("-"))
