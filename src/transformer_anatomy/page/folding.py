"""In the book, folded code that prepares a figure unfolds with the figure's own: one word below it, not three above."""

from docutils import nodes
from sphinx.application import Sphinx


def setup(app: Sphinx) -> None:
    """Connects the transformation to Sphinx."""
    app.connect("doctree-read", _gather)


def _gather(app: Sphinx, doctree: nodes.document) -> None:
    """A folded cell without output hands its code to a folded cell that comes right after it."""
    for cell in list(doctree.findall(_folded)):
        following = cell.next_node(siblings=True, descend=False)
        if len(cell) == 1 and following is not None and _folded(following):
            following[0].insert(0, cell[0].children)
            cell.parent.remove(cell)


def _folded(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("hide_mode") == "input"
