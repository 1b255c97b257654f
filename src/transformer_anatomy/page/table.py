"""A table of results: numbers as the book writes them, their columns aligned, wide ones scrolled."""

import math
import re
from typing import Any

from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.course import building_book
from transformer_anatomy.page.numerals import value_text
from transformer_anatomy.page.typography import marked


class Table:
    """`columns` by their headings, a pandas `DataFrame` or a dict of lists and 1-D tensors; the first names the rows.

    Numbers are rounded and aligned on the right, missing ones are dashes, markup (`__html__`) stays as it is; `caption`
    says what was measured. It shows itself. Raises `TypeError` for what has no named columns, `ValueError` for
    columns of different lengths or none.
    """

    def __init__(self, columns: Any, *, caption: str):
        if not hasattr(columns, "items"):
            raise TypeError(f"columns must be a DataFrame or a dict of columns, got {type(columns).__name__}")
        self.caption = caption
        self.columns = {str(name): [_plain(value) for value in column] for name, column in columns.items()}
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"columns must be one or more of the same length, got {lengths}")

    def _repr_html_(self) -> str:
        kinds = ["number" if _is_numeric(column) else "" for column in self.columns.values()]
        heads = "".join(
            f'<th scope="col" class="{kind}">{marked(name)}</th>'
            for name, kind in zip(self.columns, kinds, strict=True)
        )
        rows = "".join(_row(values, kinds) for values in zip(*self.columns.values(), strict=True))
        markup = (
            f'<div class="results anatomy" tabindex="0"><table><caption>{marked(self.caption)}</caption>'
            f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        )
        return markup if building_book() else f"<style>{asset('tokens.css', 'cards.css', 'table.css')}</style>{markup}"

    def __repr__(self) -> str:
        rows = [list(self.columns), *([_text(v) for v in row] for row in zip(*self.columns.values(), strict=True))]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def _row(values: tuple[object, ...], kinds: list[str]) -> str:
    first, *others = map(_markup, values)
    cells = "".join(f'<td class="{kind}">{text}</td>' for text, kind in zip(others, kinds[1:], strict=True))
    return f'<tr><th scope="row" class="{kinds[0]}">{first}</th>{cells}</tr>'


def _markup(value: object) -> str:
    return value.__html__() if hasattr(value, "__html__") else _breakable(marked(_text(value)))


def _breakable(markup: str) -> str:
    """A path in a model may break where its words join."""
    return re.sub(r"(?<=\w)([._])(?=[a-z])", r"\1<wbr>", markup)


def _plain(value: object) -> object:
    """A number of NumPy or PyTorch as one of Python."""
    return value.item() if hasattr(value, "item") else value


def _is_numeric(column: list[object]) -> bool:
    return all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in column)


def _text(value: object) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value_text(value) if math.isfinite(value) else "∞" if value > 0 else "−∞"
    return str(value)
