"""Tensors to pictures in the look of the book, without pyplot.

Each function takes a tensor or a dict of tensors, with the same meaning as the result of a function given to
`explore`, and returns a `Picture`: light and dark, with alt text.
"""

from transformer_anatomy.page.plotting.bars import plot_bars
from transformer_anatomy.page.plotting.heatmap import plot_heatmap
from transformer_anatomy.page.plotting.layers import plot_layers
from transformer_anatomy.page.plotting.lines import plot_lines

__all__ = ["plot_bars", "plot_heatmap", "plot_layers", "plot_lines"]
