"""A small book with a status page: what it shows comes from its build."""

import html
import json
import re
from types import SimpleNamespace

import pytest
import yaml

from tests.page.test_sphinxext import STRICT, build, write_book, write_notebook
from transformer_anatomy.page import status
from transformer_anatomy.page.execution import Runs
from transformer_anatomy.page.machine import machine

FIGURE = {
    "unit": "ms", "at_most": 16, "command": "make benchmark-figures", "date": "2026-01-02",
    "machine": "2 cores of a Z80, Linux on x86_64", "versions": {"Python": "3.11.7", "PyTorch": "2.13.0"},
}  # fmt: skip
FIGURES = {
    "redraw": FIGURE | {"value": 3.1},
    "a slow one": FIGURE | {"value": 16.4},
    "alone": FIGURE | {"value": 0.5, "at_most": None, "machine": "1 core of an 8086, Linux on x86_64"},
}
PARTS = "\n\n".join(f"## {part}\n\n```{{build-status}} {part}\n```" for part in status.PARTS)


def write_status(root, text=PARTS):
    (root / "book" / "status.md").write_text(f"# Status\n\n{text}\n")
    toc = yaml.safe_load((root / "_toc.yml").read_text())
    toc["chapters"] = [entry for entry in toc["chapters"] if entry["file"] != "book/status"] + [{"file": "book/status"}]
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The root of the small book, built once; tests that change it work on what others left."""
    root = tmp_path_factory.mktemp("book")
    write_book(root)
    write_status(root)
    (root / "benchmarks").mkdir()
    (root / "benchmarks" / "measured.json").write_text(json.dumps(FIGURES))
    code, log = build(root, *STRICT)
    assert code == 0, log
    return root


def shown(root):
    """Part of the page to its tables, as rows of texts, and to its text."""
    page = (root / "_build" / "html" / "book" / "status.html").read_text(encoding="utf-8")
    parts = {}
    for name, markup in re.findall(r'<section id="(\w+)">\s*<h2>.*?</h2>(.*?)</section>', page, re.DOTALL):
        tables = [
            re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL) for table in re.findall(r"<table>.*?</table>", markup)
        ]
        parts[name] = [[list(map(text, re.findall(r"<t[hd].*?</t[hd]>", row))) for row in rows] for rows in tables]
        parts[name].append(text(markup))
    return parts


def text(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"</?time>", "", markup))).split())


def test_it_says_when_and_on_what_the_book_was_built_without_a_host_or_a_path(book):
    (words,) = shown(book)["build"]
    assert re.fullmatch(rf"Built on \d+ \w+ \d{{4}}, \d\d:\d\d UTC, on {machine()}, with Python [\d.]+\.", words)
    page = (book / "_build" / "html" / "book" / "status.html").read_text()
    assert str(book) not in page


def test_versions_are_those_installed(book):
    versions = dict(shown(book)["versions"][0][1:])
    assert list(versions) == list(status.PACKAGES) and versions["torch"] == status.version("torch")


def test_each_page_that_ran_has_its_seconds_and_an_unchanged_one_keeps_them(book):
    table, words = shown(book)["pages"]
    assert table[0] == ["page", "seconds", "at most 60", "measured"]
    assert [[row[0], *row[2:]] for row in table[1:]] == [
        ["The first chapter", "kept", "in this build"],
        ["The second chapter", "kept", "in this build"],
    ]
    assert "This build executed 2 of 2, " in words
    first = table[1][1]
    cell = ["from transformer_anatomy import claim", 'claim("S0-b", measured=2.0)']
    write_notebook(book / "book" / "second.ipynb", ["# The second chapter", cell])
    code, log = build(book, *STRICT)
    assert code == 0, log
    table, words = shown(book)["pages"]
    assert table[1][:3] == ["The first chapter", first, "kept"]
    assert re.fullmatch(r"on \d{4}-\d\d-\d\d, kept since", table[1][3])
    assert table[2][0] == "The second chapter" and table[2][3] == "in this build"
    assert "This build executed 1 of 2, one after the other, in" in words


def test_a_page_that_ran_too_long_is_marked(monkeypatch, unchecked):
    seconds = {"a": 60, "b": 61}
    outputs = {name: {"execution_seconds": seconds[name], "finished": "2026-01-02T03"} for name in seconds}
    outputs["c"] = {"execution_seconds": 5}  # by MyST-NB itself, which says no date
    monkeypatch.setattr(status, "runs", lambda env: Runs(outputs, ("a",)))
    monkeypatch.setattr(status, "_link", lambda app, docname, page: page)
    app = SimpleNamespace(env=SimpleNamespace(collect_relations=lambda: {"b": [], "index": [], "a": [], "c": []}))
    markup = "".join(status._pages(app, "status"))
    rows = [text(row) for row in re.findall(r"<tr>(.*?)</tr>", markup)]
    assert rows[1:] == [
        "b 61.0 missed on 2026-01-02, kept since",
        "a 60.0 kept in this build",
        "c 5.00 kept in an earlier build",
    ]


def test_a_build_that_executes_nothing_says_so(book):
    code, log = build(book, *STRICT)
    assert code == 0, log
    table, words = shown(book)["pages"]
    assert [row[3].endswith("kept since") for row in table[1:]] == [True, True]
    assert "This build executed none of them" in words


def test_pages_lead_to_themselves(book):
    page = (book / "_build" / "html" / "book" / "status.html").read_text()
    assert '<a href="first.html">The first chapter</a>' in page


def test_statements_are_counted(book):
    (words,) = shown(book)["statements"]
    assert words.startswith("The ledger lists 3 statements. Cells of this build check 2 of them; ")
    assert words.endswith("for the other one its row says why no cell does.")


def test_recorded_figures_stand_beside_their_bounds_and_a_missed_one_is_marked(book):
    alone, others, words = shown(book)["figures"]
    assert alone[1] == ["alone", "0.50 ms", "–", "–", "make benchmark-figures"]
    assert others[1][:4] == ["a slow one", "16.4 ms", "16 ms", "missed"]
    assert others[2][:4] == ["redraw", "3.10 ms", "16 ms", "kept"]
    assert "Measured on 2026-01-02, on 1 core of an 8086, Linux on x86_64, Python 3.11.7, PyTorch 2.13.0" in words


def test_a_part_that_there_is_not_is_refused(book):
    write_status(book, "```{build-status} weather\n```")
    code, log = build(book, *STRICT)
    assert code != 0 and "build-status shows one of build, versions, pages, statements, figures, got weather" in log
