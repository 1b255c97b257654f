"""How a report writes its numbers: three significant digits, and powers of ten only where they are needed."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def value_text(value: float) -> str:
    """12,400, 153, 0.57, 0.0031, 2.4·10⁻⁸, 0, NaN."""
    if value != value:
        return "NaN"
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if -4 < int(exponent) < 6:
        rounded = float(f"{value:.3g}")
        text = f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:.3g}"
    else:
        mantissa = f"{float(mantissa):.3g}"
        power = "10" + str(int(exponent)).translate(SUPERSCRIPTS)
        text = {"1": power, "-1": f"-{power}"}.get(mantissa, f"{mantissa}·{power}")
    return text.replace("-", "−")


def cell_text(value: float | None) -> str:
    """`value_text` in a column, where zeros at the end are kept; – for None."""
    if value is None:
        return "–"
    text = value_text(value)
    plain = "·" not in text and "⁻" not in text and 0 < abs(value) < 99.95
    return f"{value:#.3g}".rstrip(".").replace("-", "−") if plain else text


def cosine_text(value: float | None) -> str:
    """`cell_text` of a cosine: one that is nearly 1 says how nearly."""
    near = value is not None and 0.9995 <= value < 1
    return f"1 − {value_text(float(f'{1 - value:.0e}'))}" if near else cell_text(value)


def percent_text(share: float) -> str:
    """A share in percent, such as 13.5 %; never 100 % of what is not all."""
    percent = 100 * share
    return f"{value_text(min(percent, 99.9) if percent < 100 else percent)} %"
