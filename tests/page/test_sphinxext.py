"""A small book of two chapters and a ledger, built as the real one is."""

import html
import re
import subprocess
import sys

import nbformat
import pytest
import yaml

from transformer_anatomy.page import sphinxext

CONFIG = {
    "title": "A small book",
    "only_build_toc_files": True,
    "execute": {"execute_notebooks": "cache"},
    "parse": {"myst_enable_extensions": ["amsmath", "colon_fence", "dollarmath"]},
    "bibtex_bibfiles": ["book/references.bib"],
    "sphinx": {
        "extra_extensions": ["transformer_anatomy.page.sphinxext"],
        "config": {
            "bibtex_reference_style": "author_year",
            "nb_execution_raise_on_error": True,
            "nb_ipywidgets_js": {},
            "nb_merge_streams": True,
        },
    },
}
STATEMENT = {
    "document": "000", "section": "3.4", "kind": "arithmetic", "statement": "The ratio is 2.", "chapter": "first",
    "verdict": "slip", "says": {"near": 2.0, "within": 0.1},
}  # fmt: skip
CLAIMS = [
    STATEMENT | {"id": "S0-a", "sources": ["vaswani2017"]},
    STATEMENT | {"id": "S0-b", "chapter": "second", "verdict": "holds", "document": "001"},
    STATEMENT | {"id": "S0-c", "verdict": "opinion", "says": None, "unchecked": "No measurement decides it."},
]
EXERCISES = [
    {"id": "half", "chapter": "first", "title": "cut it", "difficulty": 1, "minutes": 2, "answer": 0.5, "right": "Yes.",
     "wrong": [{"answer": 2, "because": "The inverse."}], "otherwise": "Hm."},
]  # fmt: skip
FIRST = [
    "# The first chapter\n\nSee {cite:p}`vaswani2017` and $e^x$.",
    ("import math",),
    "## A claim",
    ("ratio = math.exp(0.4)",),
    ("from transformer_anatomy import check, claim",),
    ('claim("S0-a", measured=ratio, note="seven keys")',),
    ("rest = ratio - 1",),
    ["print('one')", "print('two')"],
    "## Exercises",
    "### Exercise: cut it\n\nHow much is half of one?",
    ["answer = None", 'check("half", answer)'],
    "<details><summary>Solution</summary>\n\nIt is $1/2$.\n\n</details>",
    "## Sources\n\n```{bibliography}\n:list: bullet\n:filter: docname in docnames\n```",
]
SECOND = [
    "# The second chapter",
    ["from transformer_anatomy import claim", 'claim("S0-b", measured=[2.03, 1.97])'],
]
REFERENCE = "@article{vaswani2017, title={Attention}, author={Vaswani, Ashish}, journal={NIPS}, year={2017}}"


def write_notebook(path, cells):
    """A text is a markdown cell, a list of lines a code cell, a tuple of lines a folded one."""
    new = nbformat.v4
    made = [new.new_markdown_cell(c) if isinstance(c, str) else new.new_code_cell("\n".join(c)) for c in cells]
    for cell, given in zip(made, cells, strict=True):
        cell.metadata["tags"] = ["hide-input"] if isinstance(given, tuple) else []
    for place, cell in enumerate(made):
        cell.id = f"cell-{place}"
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new.new_notebook(cells=made, metadata=spec), path)


def write_book(root, **pages):
    book = root / "book"
    book.mkdir(exist_ok=True)
    pages = {"first": FIRST, "second": SECOND} | pages
    for name, cells in pages.items():
        write_notebook(book / f"{name}.ipynb", cells)
    (root / "_config.yml").write_text(yaml.safe_dump(CONFIG))
    toc = {"format": "jb-book", "root": "book/index"}
    toc["chapters"] = [{"file": f"book/{name}"} for name in [*pages, "ledger", "bibliography"]]
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))
    for name, text in {
        "index.md": "# A small book",
        "ledger.md": "# The ledger\n\n```{claims-ledger}\n```",
        "bibliography.md": "# Bibliography\n\n```{bibliography}\n```",
        "references.bib": REFERENCE,
        "claims.yml": yaml.safe_dump([{k: v for k, v in entry.items() if v is not None} for entry in CLAIMS]),
        "exercises.yml": yaml.safe_dump(EXERCISES),
    }.items():
        (book / name).write_text(text, encoding="utf-8")


def build(root, *options):
    command = [sys.executable, "-c", "from jupyter_book.cli.main import main; main()", "build", *options, "."]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


STRICT = ("-n", "-W", "--keep-going")


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The root of the small book, built strictly; tests that change it work on what others left."""
    root = tmp_path_factory.mktemp("book")
    write_book(root)
    status, log = build(root, *STRICT)
    assert status == 0, log
    return root


def page(root, name):
    return (root / "_build" / "html" / "book" / f"{name}.html").read_text(encoding="utf-8")


def rows(root):
    """Verdict, document and text of each row of the ledger."""
    found = re.findall(r'<tr id="ledger-([^"]*)".*?>(.*?)</tr>', page(root, "ledger"), re.S)
    return {name: " ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for name, row in found}


def test_the_ledger_shows_what_the_notebooks_of_this_build_measured(book):
    ledger = rows(book)
    assert list(ledger) == ["S0-a", "S0-b", "S0-c"]
    assert (
        ledger["S0-a"]
        == "Slip The ratio is 2. 000 §3.4 S0-a The first chapter card · code 1.49 2.0 ± 0.1 [ Vaswani, 2017 ]"
    )
    assert ledger["S0-b"] == "Holds The ratio is 2. 001 §3.4 S0-b The second chapter card · code 2.00 2.0 ± 0.1"
    assert ledger["S0-c"] == "Opinion The ratio is 2. 000 §3.4 S0-c The first chapter No measurement decides it."
    assert 'class="range"' in page(book, "ledger")  # the spread over the seeds


def test_each_row_leads_to_its_card_and_to_the_code_that_measured_it(book):
    links = re.findall(r'href="(first|second)\.html#((?:code-)?(S0-\w))"', page(book, "ledger"))
    assert [anchor for _, anchor, _ in links] == ["S0-a", "code-S0-a", "S0-b", "code-S0-b"]
    assert re.findall(r'href="#ledger-(S0-\w)"', page(book, "ledger")) == list(rows(book))
    for chapter, anchor, name in links:
        opening, _, rest = page(book, chapter).partition(f' id="{anchor}"')
        if anchor == name:
            assert opening.endswith('<article class="claim anatomy"')
        else:
            code = rest.partition('<div class="cell_output')[0]
            assert opening.endswith('"cell_input docutils container"') and f'"{name}"' in html.unescape(code)


def test_each_card_leads_to_its_row_and_to_its_code(book):
    for chapter, name in (("first", "S0-a"), ("second", "S0-b")):
        (card,) = re.findall(rf'<article class="claim anatomy" id="{name}".*?</article>', page(book, chapter), re.S)
        assert re.findall(r'href="([^"]*)"', card) == [f"ledger.html#ledger-{name}", f"#code-{name}"]


def test_the_ledger_is_filtered_without_a_script_by_chapters_with_their_titles_in_the_order_of_the_book(book, visit):
    address = (book / "_build" / "html" / "book" / "ledger.html").as_uri()
    opened = visit(address, java_script_enabled=False).page
    rows = opened.locator(".statements tbody tr:visible")
    listed = [" ".join(text.split()) for text in opened.locator(".filters li").all_inner_texts()]
    assert listed == ["All 3", "The first chapter 2", "The second chapter 1"]
    opened.get_by_label("The second chapter").check()
    assert rows.evaluate_all("rows => rows.map(row => row.id)") == ["ledger-S0-b"]
    opened.get_by_role("button", name="Show all").click()
    assert rows.count() == 3


def test_folded_code_without_output_unfolds_with_the_folded_cell_after_it(book):
    folds = re.findall(r'<details class="[^"]*above-input.*?</details>', page(book, "first"), re.S)
    code = [html.unescape(re.sub(r"<[^>]+>", "", fold)) for fold in folds]
    assert len(code) == 3  # alone under the title; before the card and with it; after the card
    assert all(words in code[1] for words in ("ratio =", "import", "seven keys")) and "rest =" in code[2]


def test_folded_code_stands_below_what_it_shows(book):
    cell = r'<div class="cell tag_hide-input.*?(?=<div class="cell [td]|</section>)'
    cells = re.findall(cell, page(book, "first"), re.S)
    shows = [cell for cell in cells if "cell_output" in cell]
    assert shows and all(cell.index("cell_output") < cell.index("above-input") for cell in shows)


def test_what_a_cell_prints_is_one_block(book):
    assert re.search(r"one\ntwo\n", page(book, "first"))


def test_an_exercise_is_one_panel_of_heading_effort_text_cell_and_solution(book):
    panel = re.search(r'<section class="answer exercise anatomy".*?</section>', page(book, "first"), re.S)[0]
    for part in ("Exercise: cut it", "●○○", "2 min", "How much is half", "<form", "<summary>Solution</summary>"):
        assert part in panel
    assert panel.count("●○○") == 1


def test_nothing_on_a_page_comes_from_elsewhere(book):
    for file in (book / "_build" / "html").rglob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|preload)")[^>]*?(?:src|href)="([^"]+)"', file.read_text()
        )
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []


def test_mathematics_is_set_by_the_local_mathjax_with_its_fonts_and_little_else(book):
    static = book / "_build" / "html" / "_static"
    assert re.search(r'src="\.\./_static/mathjax/tex-chtml\.js', page(book, "first"))
    assert list(static.glob("mathjax/output/chtml/fonts/woff-v2/*.woff"))
    assert sum(file.stat().st_size for file in (static / "mathjax").rglob("*")) < 3e6


def test_every_page_loads_the_styles_of_the_course_once_and_the_scripts_that_it_needs(book):
    assert "answers.js" not in page(book, "second")
    for name, scripts in (("first", ["answers.js"]), ("ledger", [])):
        for asset in (*sphinxext.STYLES, *scripts):
            assert len(re.findall(rf'="\.\./_static/{re.escape(asset)}\?', page(book, name))) == 1
            assert (book / "_build" / "html" / "_static" / asset).is_file()


def test_ids_are_unique_on_each_page(book):
    for name in ("first", "second", "ledger"):
        ids = re.findall(r'\sid="([^"]+)"', page(book, name))
        assert len(ids) == len(set(ids))


def test_a_changed_notebook_changes_the_ledger_and_the_others_keep_their_values(book):
    write_notebook(book / "book" / "second.ipynb", [SECOND[0], [line.replace("2.03", "2.09") for line in SECOND[1]]])
    status, log = build(book, *STRICT)
    assert status == 0 and log.count("Executed notebook") == 1, log
    assert "2.03 2.0 ± 0.1" in rows(book)["S0-b"] and "1.49" in rows(book)["S0-a"]


def test_a_build_without_changes_runs_nothing_and_keeps_the_ledger(book):
    before = rows(book)
    status, log = build(book, *STRICT)
    assert status == 0 and "Executed notebook" not in log, log
    assert rows(book) == before


def test_a_changed_statement_runs_the_notebooks_again(book):
    claims = book / "book" / "claims.yml"
    claims.write_text(claims.read_text().replace("The ratio is 2.", "The ratio is two."))
    status, log = build(book, *STRICT)
    assert status == 0 and log.count("Executed notebook") == 2, log
    assert "The ratio is two." in rows(book)["S0-a"] and "The ratio is two." in page(book, "first")
    assert len(list((book / "_build" / ".jupyter_cache").glob("anatomy-*"))) == 1


def test_a_page_that_is_gone_takes_its_measurements_with_it(book):
    (book / "book" / "second.ipynb").unlink()
    toc = book / "_toc.yml"
    toc.write_text(toc.read_text().replace("- file: book/second\n", ""))
    status, log = build(book, *STRICT)
    assert status != 0 and "S0-b has no claim in a chapter" in log, log
    assert rows(book)["S0-b"] == "Holds The ratio is two. 001 §3.4 S0-b second not checked in this build"


def test_pages_can_be_read_in_parallel(tmp_path):
    """By Sphinx itself: an extension that Jupyter Book adds does not allow it."""
    write_book(tmp_path, **{f"page{n}": ["# Another page"] for n in range(6)})  # Sphinx shares out six pages or more
    (tmp_path / "book" / "index.md").write_text("# A small book\n\n```{toctree}\n:glob:\n*\n```")
    (tmp_path / "book" / "conf.py").write_text(
        'extensions = ["myst_nb", "sphinxcontrib.bibtex", "transformer_anatomy.page.sphinxext"]\n'
        'html_theme, myst_enable_extensions = "sphinx_book_theme", ["dollarmath"]\n'
        'bibtex_bibfiles, bibtex_reference_style = ["references.bib"], "author_year"\n'
    )
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-j", "2", "book", "_build/html/book"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0 and "bibliography .. page0" in done.stdout, done.stdout + done.stderr
    assert "1.49 2.0 ± 0.1" in rows(tmp_path)["S0-a"] and "2.00 2.0 ± 0.1" in rows(tmp_path)["S0-b"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1 / 0"], "ZeroDivisionError"),
        (["from transformer_anatomy import claim", 'claim("S0-b", measured=1.0)'], "ClaimError"),
        (
            ["from IPython.display import display", 'display({"application/x-anatomy": "?"}, raw=True)'],
            "application/x-anatomy",
        ),
    ],
    ids=["a cell that fails", "a claim that no longer holds", "an output of unknown type"],
)
def test_the_build_fails_on(tmp_path, lines, words):
    write_book(tmp_path, second=["# The second chapter", lines])
    status, log = build(tmp_path, *STRICT)
    assert status != 0 and words in log, log


def test_what_is_missing_double_or_out_of_place_is_a_warning(tmp_path):
    again = [*SECOND[1], 'claim("S0-a", measured=1.0)', 'claim("S0-a", measured=1.0)']
    loose = ["from transformer_anatomy import check", 'check("half")']
    write_book(tmp_path, first=["# The first chapter"], second=["# The second chapter", again, loose])
    write_notebook(tmp_path / "book" / "second.ipynb", ["# The second chapter", again[:1] + again[2:], loose])
    status, log = build(tmp_path)
    assert status == 0
    for words in (
        "S0-b has no claim in a chapter and no 'unchecked' in claims.yml",
        "S0-a is claimed 2 times: book/second, book/second",
        "S0-a is claimed in book/second, but claims.yml says chapter first",
        "exercise half must stand in a section of its own whose heading ends with “cut it”",
    ):
        assert words in log, log


def test_the_execution_cache_changes_with_the_library_the_data_of_the_book_and_what_is_installed(tmp_path, monkeypatch):
    package = tmp_path / "package" / "page"
    package.mkdir(parents=True)
    monkeypatch.setattr(sphinxext, "PACKAGE", package.parent)
    (tmp_path / "book" / "data").mkdir(parents=True)

    def key():
        return sphinxext.inputs_key(tmp_path)

    keys = [key()]
    inputs = ("book/claims.yml", "book/exercises.yml", "book/data/passages.txt", "constraints.txt")
    (package / "static").mkdir()
    for file in (package / "claims.py", package / "static" / "tokens.css", *(tmp_path / name for name in inputs)):
        file.write_text("1")
        keys.append(key())
    (package / "claims.py").write_text("2")
    keys.append(key())
    for title in ("# One", "# Two"):
        write_notebook(tmp_path / "book" / "first.ipynb", [title])
        keys.append(key())
    monkeypatch.setattr(sphinxext, "version", lambda name: "3.0" if name == "torch" else "1.0")
    keys.append(key())
    monkeypatch.setattr(sphinxext.platform, "python_version", lambda: "3.99")
    keys.append(key())
    assert len(set(keys)) == len(keys)
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "claims.pyc").write_text("x")
    assert key() == keys[-1]
    (package / "static" / "cards.css").write_text("x")
    (package / "dress.py").write_text('"""A hook."""\n\nfrom sphinx.application import Sphinx\n')
    assert key() == keys[-1]


def test_a_chapter_loads_no_module_that_only_dresses_pages():
    code = "from transformer_anatomy import *; import sys; print(*(n for n in sys.modules if 'transformer_anat' in n))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    files = [file for file in sphinxext.PACKAGE.rglob("*.py") if sphinxext.DRESSES_PAGES.search(file.read_bytes())]
    dressing = {".".join(file.relative_to(sphinxext.PACKAGE.parent).with_suffix("").parts) for file in files}
    assert "transformer_anatomy.page.claims.cards" in loaded and "transformer_anatomy.page.sphinxext" in dressing
    assert dressing & set(loaded) == set()
