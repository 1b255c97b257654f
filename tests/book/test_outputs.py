"""What the notebooks printed while the book was built."""

import json
import re

import pytest

from tests.chapters import ROOT

NOISE = {
    "an address in memory": r"\bat 0x[0-9a-f]+",
    "a NumPy scalar's repr": r"\bnp\.(float|int)\d+",
    "a path of this machine": r"/(home|root|tmp|usr|var|Users)/\w",
    "a figure's default text": r"<Figure size",
    "a progress bar": r"\d+it/s|it/s\]",
}


@pytest.fixture(scope="module")
def outputs(built):
    def of(chapter: str) -> list[dict]:
        executed = json.loads((ROOT / "_build" / "jupyter_execute" / f"{chapter}.ipynb").read_text())
        return [output for cell in executed["cells"] for output in cell.get("outputs", [])]

    return of


def texts(outputs: list[dict]) -> list[str]:
    """All text that a reader sees: streams, plain text, and HTML without the data of figures."""
    seen = []
    for output in outputs:
        data = output.get("data", {})
        parts = [output.get("text", ""), *(data.get(kind, "") for kind in ("text/plain", "text/html"))]
        seen += ["".join(part) for part in parts]
    return [re.sub(r"(?s)<script.*?</script>|src=\"data:[^\"]*\"", "", text) for text in seen]


def test_nothing_is_said_on_stderr(outputs, executed):
    assert [output for output in outputs(executed) if output.get("name") == "stderr"] == []


def test_every_cell_ran(outputs, executed):
    assert [output for output in outputs(executed) if output["output_type"] == "error"] == []


@pytest.mark.parametrize("what", NOISE)
def test_no_noise_is_printed(outputs, executed, what):
    assert [text for text in texts(outputs(executed)) if re.search(NOISE[what], text)] == []


def test_the_book_needs_no_widget_state(outputs, executed):
    kinds = {kind for output in outputs(executed) for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/html"}


def test_no_output_brings_a_style_or_a_script(outputs, executed):
    """The page has them, and the execution cache does not look at them."""
    html = ["".join(output.get("data", {}).get("text/html", "")) for output in outputs(executed)]
    assert [text for text in html if re.search(r'<style|<link|<script(?! type="application/json")', text)] == []
