"""What every chapter keeps to, so that a reader of one can read them all."""

import ast
import re
import statistics
import symtable
import sys
import tomllib
from collections import Counter

from tests.chapters import ROOT, chapters

LONGEST_CELL = 15
FORBIDDEN = {
    "a class belongs in the library": r"^\s*class ",
    "the library is installed, not found": r"sys\.path",
    "the environment is not the notebook's business": r"^\s*[!%]|\bpip install",
    "a warning is mended, not hidden": r"filterwarnings|simplefilter",
    "a device is chosen by the library": r"\.cuda\b|[\"'](cuda|mps)|is_available\(",
    "figures are returned, not shown": r"\.show\(",
}


def lines_of(source: str) -> list[str]:
    return [line for line in source.splitlines() if line.strip()]


def test_there_is_at_least_one_chapter():
    assert chapters()


def test_a_chapter_carries_no_output(page):
    assert [cell.id for cell in page.code_cells if cell.outputs or cell.execution_count] == []


def test_the_kernel_is_the_one_everybody_has(page):
    assert page.notebook.metadata.kernelspec.name == "python3"
    assert set(page.notebook.metadata) <= {"kernelspec", "language_info"}


def test_cells_have_names_that_stay(page):
    ids = [cell.id for cell in page.notebook.cells]
    assert len(ids) == len(set(ids))
    assert [name for name in ids if not re.fullmatch(r"[a-z][a-z0-9_-]+", name)] == []


def test_code_cells_are_short(page):
    lengths = {cell.id: len(lines_of(cell.source)) for cell in page.code_cells}
    assert {name: n for name, n in lengths.items() if n > LONGEST_CELL} == {}
    shown = [lengths[cell.id] for cell in page.code_cells if "hide-input" not in cell.metadata.get("tags", [])]
    assert statistics.median(shown or [0]) <= 9  # a page may fold all it has


def test_the_first_cell_is_imports_and_seed(page):
    body = ast.parse(page.code_cells[0].source).body
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [ast.unparse(node) for node in body if node not in imports]
    assert imports
    assert [line for line in rest if "manual_seed" not in line] == []
    later = "\n".join(cell.source for cell in page.code_cells[1:])
    assert not re.search(r"^\s*(import|from) ", later, re.MULTILINE)


def test_the_habits_that_cost_readers_time_are_absent(page):
    found = {why: re.findall(pattern, page.code, re.MULTILINE) for why, pattern in FORBIDDEN.items()}
    assert {why: hits for why, hits in found.items() if hits} == {}


def test_the_library_is_imported_from_the_top(page):
    assert re.findall(r"transformer_anatomy\.\w+", page.code) == []


def test_every_import_is_declared(page):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    allowed = {re.split(r"[<>=\[]", name)[0] for name in declared} | set(sys.stdlib_module_names)
    allowed |= {"transformer_anatomy", "yaml"} if "pyyaml" in allowed else {"transformer_anatomy"}
    nodes = list(ast.walk(ast.parse(page.code)))
    imported = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert [name for name in imported if name.split(".")[0] not in allowed] == []


def test_the_head_of_the_page_says_what_for_and_how_long(headed):
    first = headed.notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    for part in ('class="question"', "You will be able to", "You need", "Time", "min to read", "to run"):
        assert part in first.source, part


def test_a_chapter_asks_shows_and_exercises(chapter):
    assert len(chapter.calls("predict")) >= 1
    assert len(chapter.calls("explore")) >= 3
    assert len(chapter.calls("check")) >= 4
    assert "{bibliography}" in chapter.prose


def test_every_figure_says_in_words_what_is_to_be_seen(page):
    for name in ("explore", "plot_heatmap", "plot_lines", "plot_bars"):
        for call in page.calls(name):
            given = {keyword.arg for keyword in call.keywords}
            assert "alt" in given, f"{name} in line {call.lineno}"
            if name == "explore":
                assert {"title", "caption", "readout"} <= given, f"explore in line {call.lineno}"


def test_code_that_is_folded_in_the_book_is_folded_in_jupyterlab(page):
    for cell in page.notebook.cells:
        tags = cell.metadata.get("tags", [])
        assert tags in ([], ["hide-input"]), cell.id
        assert cell.metadata.get("jupyter", {}).get("source_hidden", False) == bool(tags), cell.id


COMPREHENSIONS = {"listcomp", "setcomp", "dictcomp", "genexpr"}  # run in their cell, unless a function holds them


def names_bound_by(source: str) -> set[str]:
    """The names that running a cell binds in the notebook."""
    symbols = symtable.symtable(source, "cell", "exec").get_symbols()
    return {symbol.get_name() for symbol in symbols if symbol.is_assigned()}


def names_read_by_functions(table: symtable.SymbolTable, in_function: bool = False) -> set[str]:
    """The names that the functions and lambdas of a cell look up in the notebook each time they are called."""
    in_function = in_function or (table.get_type() == "function" and table.get_name() not in COMPREHENSIONS)
    read = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global()} if in_function else set()
    return read.union(*(names_read_by_functions(child, in_function) for child in table.get_children()))


def test_no_later_cell_changes_what_a_figure_computes(page):
    """A live figure calls its function after later cells ran: a name bound again means something else then."""
    sources = [cell.source for cell in page.code_cells]
    bound = Counter(name for source in sources for name in names_bound_by(source))
    tables = [symtable.symtable(source, "cell", "exec") for source in sources]
    read = set().union(*map(names_read_by_functions, tables))
    assert {name for name in read if bound[name] > 1} == set()
