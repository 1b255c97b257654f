"""The figures of a stack as rows of text."""

from dataclasses import fields

from transformer_anatomy.instruments.health.figures import LayerFigures
from transformer_anatomy.instruments.health.numerals import cell_text, cosine_text

HEADINGS = {
    "gradient": "gradient",
    "relative_gradient": "gradient · weights / loss",
    "similarity": "token similarity",
    "size": "stream size",
    "growth": "stream growth",
    "entropy": "attention entropy",
    "dead": "dead neurons",
    "update": "update / weights",
}


WRITTEN = {"similarity": cosine_text}  # the others are plain


def layer_rows(stack: tuple[LayerFigures, ...]) -> list[list[str]]:
    """A heading and a row for each layer, its path first; figures that no layer has are left out."""
    names = [f.name for f in fields(LayerFigures)[1:] if any(getattr(layer, f.name) is not None for layer in stack)]
    head = ["layer", *(HEADINGS[name] for name in names)]
    return [
        head,
        *([layer.path, *(WRITTEN.get(name, cell_text)(getattr(layer, name)) for name in names)] for layer in stack),
    ]
