"""In a real JupyterLab the figures compute: a reader runs a chapter, presses an arrow key, and the kernel answers."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import expect

from tests.browsing import drawn

BOOK = Path(__file__).parents[2] / "book"

# Long enough for a machine that is busy with other work, too; in seconds.
TO_START, TO_RUN, TO_ANSWER = 120, 600, 60

pytestmark = pytest.mark.xdist_group("lab")  # one server, and one chapter at a time

STDERR = "[data-mime-type='application/vnd.jupyter.stderr']"
# All figures live, or a cell that failed: then the others will not come.
SETTLED = f"""figures => {{
  const states = [...document.querySelectorAll("figure.explore .state")];
  const live = states.filter(state => state.textContent.includes("live"));
  return live.length === figures || document.querySelector("{STDERR}");
}}"""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab on a copy of the book, so that nothing a test does is saved into the project."""
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(BOOK, home / "book", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    settings = home / "settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # All cells are rendered, also those that are not in view.
    (settings / "tracker.jupyterlab-settings").write_text(json.dumps({"windowingMode": "none"}))
    port, token = free_port(), secrets.token_hex(16)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
    command += ["--ServerApp.ip=127.0.0.1", f"--IdentityProvider.token={token}"]
    command += [f"--ServerApp.root_dir={home / 'book'}"]
    environment = os.environ | {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "OMP_NUM_THREADS": "1"}
    with (home / "log.txt").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for(f"http://127.0.0.1:{port}/api?token={token}", home / "log.txt")
            # Each chapter in a workspace of its own: else JupyterLab opens the one before it, too, with live figures.
            yield f"http://127.0.0.1:{port}/lab/workspaces/{{0}}/tree/{{0}}.ipynb?token={token}"
        finally:
            server.terminate()
            server.wait(TO_START)


def wait_for(address: str, log: Path) -> None:
    deadline = time.monotonic() + TO_START
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


@pytest.fixture
def notebook(visit, lab):
    """Opens a chapter, runs all of it, and returns when its figures are live."""

    def run(chapter: str):
        name = chapter.rpartition("/")[2]
        opened = visit(lab.format(name), viewport={"width": 1300, "height": 1000})
        opened.page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=1000 * TO_START)
        opened.page.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=1000 * TO_START)
        opened.page.get_by_role("menuitem", name="Run", exact=True).click()
        opened.page.get_by_text("Run All Cells", exact=True).click()
        expected = (BOOK / f"{name}.ipynb").read_text().count('"explore(\\n"')
        opened.page.wait_for_function(SETTLED, arg=expected, timeout=1000 * TO_RUN)
        assert opened.page.locator(STDERR).all_text_contents() == []
        return opened

    return run


def test_a_reader_runs_a_chapter_and_the_kernel_answers_between_the_stored_frames(notebook, chapter):
    opened = notebook(chapter)
    assert opened.outside == []
    figure = opened.page.locator("figure.explore:has(input[type=range])").first
    slider = figure.locator("input[type=range]").first
    stored = json.loads(figure.locator("script").text_content())["controls"][0]["values"]
    before, said = drawn(figure), figure.locator(".readout").inner_text()
    slider.focus()
    slider.press("ArrowRight")
    expect(figure.locator(".state")).to_contain_text("ms", timeout=1000 * TO_ANSWER)
    shown = float(figure.locator("output").first.inner_text().replace("−", "-"))
    assert all(abs(shown - value) > 1e-9 for value in stored)
    assert drawn(figure) != before
    assert figure.locator(".readout").inner_text() != said


ANSWERS = ["from transformer_anatomy import check, exercise_table", "exercise_table()"]
ANSWERS += ['check("attention-row", 0.965)']
ANSWERS += ['check("attention-row", 0.787)', 'check("softmax-window", "a window of 5")', "exercise_table()"]


@pytest.fixture
def answered(visit, lab):
    """A notebook of a reader's own with ANSWERS, opened and run; and a function that asks JupyterLab's server."""
    server, token = lab.partition("/lab/")[0], lab.rpartition("token=")[2]

    def ask(method: str, path: str, content: dict | None = None):
        request = urllib.request.Request(f"{server}/api/{path}?token={token}", method=method)
        body = None if content is None else json.dumps(content).encode()
        with urllib.request.urlopen(request, data=body, timeout=TO_ANSWER) as answer:
            return json.loads(answer.read() or "null")

    cells = [nbformat.v4.new_code_cell(source) for source in ANSWERS]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    content = nbformat.v4.new_notebook(cells=cells, metadata=spec)
    ask("PUT", "contents/answers.ipynb", {"type": "notebook", "content": content})
    opened = visit(lab.format("answers"), viewport={"width": 1300, "height": 1000}).page
    opened.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=1000 * TO_START)
    opened.get_by_text("Python 3 (ipykernel) | Idle").wait_for(timeout=1000 * TO_START)
    run_all(opened)
    expect(opened.locator(".exercises table")).to_have_count(2, timeout=1000 * TO_RUN)
    return opened, ask


def run_all(page):
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_text("Run All Cells", exact=True).click()


def test_a_session_lists_what_was_answered_in_it_and_a_restarted_kernel_has_forgotten(answered):
    opened, ask = answered
    before, after = opened.locator(".exercises tr", has_text="The row of water").all()
    assert "not tried" in before.inner_text() and "solved after 2 tries" in after.inner_text()
    run_all(opened)
    expect(before).to_contain_text("solved after 2 tries", timeout=1000 * TO_ANSWER)
    (kernel,) = [each["kernel"]["id"] for each in ask("GET", "sessions") if each["path"] == "answers.ipynb"]
    ask("POST", f"kernels/{kernel}/restart")
    run_all(opened)
    expect(before).to_contain_text("not tried", timeout=1000 * TO_ANSWER)


def test_a_listed_exercise_leads_to_its_place_in_the_chapter(answered):
    opened, _ = answered
    link = opened.get_by_role("link", name="Turn the knob back").first
    heading = opened.get_by_role("heading", name="Exercise: turn the knob back")
    link.click()
    heading.wait_for(timeout=1000 * TO_START)
    # Cells above it that JupyterLab still renders may push it away again: the chapter is whole at the second click.
    opened.get_by_role("tab", name="answers.ipynb").click()
    link.click()
    expect(heading).to_be_in_viewport(timeout=1000 * TO_ANSWER)
