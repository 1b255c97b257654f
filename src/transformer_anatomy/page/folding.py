"""In the book, folded code that prepares a figure unfolds with the figure's own: one word below it, not three above."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


def setup(app: Sphinx) -> None:
    """Connects the transformation to Sphinx."""
    app.connect("doctree-read", _gather)
    app.add_post_transform(OutputFirst)


def _gather(app: Sphinx, doctree: nodes.document) -> None:
    """A folded cell without output hands its code to a folded cell that comes right after it."""
    for cell in list(doctree.findall(_folded)):
        following = cell.next_node(siblings=True, descend=False)
        if len(cell) == 1 and following is not None and _folded(following):
            following[0].insert(0, cell[0].children)
            cell.parent.remove(cell)


class OutputFirst(SphinxPostTransform):
    """Folded code stands in the page where it is seen, below its output: nothing moves when the output comes."""

    default_priority = 200  # MyST-NB has folded the code with 199
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Puts the fold of each cell behind what the cell shows."""
        for cell in self.document.findall(_folded):
            cell.children = [*cell.children[1:], *cell.children[:1]]


def _folded(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("hide_mode") == "input"
