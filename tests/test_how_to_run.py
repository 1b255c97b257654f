"""The page on how to run the book names what exists, and says of every way whether it was tried."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "book" / "how_to_run.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
WAYS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")][
    1:
]


def test_each_way_says_how_it_was_tried_or_that_it_was_not():
    assert len(WAYS) >= 8
    for way, setting, tried in WAYS:
        assert setting, way
        assert "**untested**" in tried or re.search(r"Linux|Chromium|JupyterHub \d", tried), way


def test_each_way_that_links_has_its_section():
    links = {link for way, *_ in WAYS for link in re.findall(r"\]\(#([\w-]+)\)", way)}
    assert len(links) >= 7 and links <= set(re.findall(r"^\(([\w-]+)\)=$", PAGE, re.MULTILINE))


def test_its_make_commands_are_in_the_makefile():
    rules = set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))
    named = set(re.findall(r"\bmake (?:[A-Z]\S+ )?([a-z]+)\b(?=`|$)", PAGE, re.MULTILINE))
    assert {"lab", "book"} <= named <= rules


def test_what_is_installed_by_hand_is_what_make_installs():
    files = re.findall(r"install --requirement (\S+) --constraint (\S+)", PAGE)
    assert len(files) == 2 and set(files) == {("requirements.txt", "constraints.txt")}
    assert "--constraint constraints.txt --requirement requirements.txt" in MAKEFILE


def test_its_versions_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    low, high = (int(minor) for minor in re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"]).groups())
    minors = [f"3.{minor}" for minor in range(low, high)]
    assert f"Python {', '.join(minors[:-1])} or {minors[-1]}" in PAGE
    (pin,) = re.findall(r"`(torch==[\d.]+)`", PAGE)
    assert pin in (ROOT / "constraints.txt").read_text().splitlines()


def test_the_cell_for_colab_installs_a_clone_and_goes_to_its_book():
    """Not editable: what is installed so is found by a new kernel only."""
    (cell,) = re.findall(r"```\n(!git clone.*?)```", PAGE, re.DOTALL)
    clone, install, change = cell.splitlines()
    folder = clone.split()[-1]
    assert install.split()[-1] == f"./{folder}" and "-e" not in install
    assert change == f"%cd {folder}/book"
