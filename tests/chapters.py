"""The chapters that the table of contents names, as the tests read them."""

import ast
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Chapter:
    path: Path

    @cached_property
    def notebook(self):
        return nbformat.read(self.path, as_version=4)

    @cached_property
    def code_cells(self):
        return [cell for cell in self.notebook.cells if cell.cell_type == "code"]

    @cached_property
    def prose(self) -> str:
        return "\n".join(cell.source for cell in self.notebook.cells if cell.cell_type == "markdown")

    @cached_property
    def code(self) -> str:
        return "\n\n".join(cell.source for cell in self.code_cells)

    def calls(self, name: str) -> list[ast.Call]:
        """Every call of the function `name`, in order."""
        nodes = [node for node in ast.walk(ast.parse(self.code)) if isinstance(node, ast.Call)]
        return [node for node in nodes if isinstance(node.func, ast.Name) and node.func.id == name]

    def first_arguments(self, name: str) -> list[str]:
        return [ast.literal_eval(call.args[0]) for call in self.calls(name)]


def notebooks(*, front: bool = True, back_matter: bool = True) -> list[Chapter]:
    """The notebooks that the table of contents names: front page, chapters, and what runs of the back matter."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    parts = [part for part in contents["parts"] if back_matter or part["caption"] != "Back matter"]
    files = [contents["root"]] * front + [entry["file"] for part in parts for entry in part["chapters"]]
    pages = [(ROOT / file).with_suffix(".ipynb") for file in files]
    return [Chapter(page) for page in pages if page.exists()]


def chapters() -> list[Chapter]:
    """The notebooks that teach: each asks, shows and exercises."""
    return notebooks(front=False, back_matter=False)
