"""The glossary: each term in English, 简体 and 繁體, on a page of its own and behind its first use in the prose.

Chapters opened in JupyterLab have no such links: Sphinx sets them, and no notebook knows of them.
"""

from typing import Any

from sphinx.application import Sphinx

from transformer_anatomy.page.glossary import first_uses, table


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directive `glossary-table` and the links that lead to it."""
    first_uses.setup(app)
    table.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
