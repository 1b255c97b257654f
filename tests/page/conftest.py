import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A function that writes book/claims.yml or book/exercises.yml of a course of its own, and works inside it."""
    (tmp_path / "book").mkdir()
    monkeypatch.chdir(tmp_path)

    def write(name, entries):
        (tmp_path / "book" / name).write_text(yaml.safe_dump(entries, allow_unicode=True), encoding="utf-8")

    return write


@pytest.fixture
def shown():
    """A context that collects what is displayed in it: `.outputs`, each with its `.data` by MIME type."""
    InteractiveShell.instance()
    yield lambda: capture_output(display=True)
    InteractiveShell.clear_instance()
