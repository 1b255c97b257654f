import io
import os
import signal
import sys
import threading

import nbformat
import pytest
from nbclient import NotebookClient

from tests.lab import reversal
from transformer_anatomy import sweep
from transformer_anatomy.lab.progress import interruptible, progress_bar

pytestmark = pytest.mark.usefixtures("unchecked")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def watch(monkeypatch):
    """Make standard error a terminal; called inside a test, because pytest replaces it before each one."""

    def start():
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return start


class TestBar:
    def test_nobody_watching_nothing_is_written(self, capfd):
        reversal.train(reversal.model())
        sweep(lambda a: {"x": a}, {"a": [1, 2]})
        assert capfd.readouterr() == ("", "")

    def test_a_terminal_sees_it_grow_and_then_nothing_is_left_of_it(self, watch):
        terminal = watch()
        with progress_bar(3, mininterval=0) as bar:
            for _ in range(3):
                bar.update()
        assert "3/3" in terminal.getvalue()
        *_, last, end = terminal.getvalue().split("\r")
        assert (last.strip(), end) == ("", "")

    def test_it_begins_where_a_continued_run_begins(self, watch, tmp_path):
        terminal = watch()
        path = tmp_path / "run.safetensors"
        reversal.train(reversal.model(), checkpoint=path)
        assert "0/12" in terminal.getvalue()
        terminal.truncate(0)
        reversal.train(reversal.model(), checkpoint=path)
        assert "12/12" in terminal.getvalue() and " 0/12" not in terminal.getvalue()

    def test_the_runs_of_a_sweep_show_none_of_their_own(self, watch):
        terminal = watch()
        sweep(lambda seed: {"x": reversal.train(reversal.model(), n_steps=2).loss.iloc[-1]}, {"seed": [0]})
        assert "0/1" in terminal.getvalue() and "0/2" not in terminal.getvalue()

    def test_who_asks_for_it_gets_it_and_who_does_not_want_it_does_not(self, watch):
        terminal = watch()
        reversal.train(reversal.model(), progress=False)
        assert terminal.getvalue() == ""
        reversal.train(reversal.model(), progress=True)
        assert "0/12" in terminal.getvalue()


def test_a_notebook_that_a_program_runs_keeps_no_trace_of_a_bar_and_one_that_was_open_an_empty_line():
    cells = [
        "from tests.lab import reversal; reversal.train(reversal.model(), n_steps=3);",
        "import os; os.environ['JPY_SESSION_NAME'] = 'lesson.ipynb'; reversal.train(reversal.model(), n_steps=3);",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    run, opened = (cell.outputs for cell in notebook.cells)
    assert run == []
    assert [(output.output_type, output.data) for output in opened] == [("display_data", {"text/plain": ""})]
    assert "widgets" not in notebook.metadata


def test_a_script_that_is_started_from_a_notebook_is_no_notebook(monkeypatch, capfd):
    monkeypatch.setenv("JPY_SESSION_NAME", "lesson.ipynb")
    reversal.train(reversal.model(), n_steps=2)
    assert capfd.readouterr() == ("", "")


class TestInterrupt:
    def test_ctrl_c_waits_for_the_end_of_the_block(self):
        done = []
        with pytest.raises(KeyboardInterrupt), interruptible() as asked:
            os.kill(os.getpid(), signal.SIGINT)
            done.append(asked.is_set())
        assert done == [True]

    def test_a_second_one_interrupts_at_once(self):
        done = []
        with pytest.raises(KeyboardInterrupt), interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            done.append("never")
        assert done == []

    def test_afterwards_ctrl_c_is_what_it_was(self):
        before = signal.getsignal(signal.SIGINT)
        with interruptible():
            assert signal.getsignal(signal.SIGINT) != before
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(ZeroDivisionError), interruptible():
            raise ZeroDivisionError
        assert signal.getsignal(signal.SIGINT) is before

    def test_where_it_is_ignored_it_stays_ignored(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with interruptible() as asked:
                os.kill(os.getpid(), signal.SIGINT)
                assert not asked.is_set()
        finally:
            signal.signal(signal.SIGINT, before)

    def test_another_thread_trains_without_it(self):
        lengths = []
        thread = threading.Thread(target=lambda: lengths.append(len(reversal.train(reversal.model(), n_steps=2))))
        thread.start()
        thread.join()
        assert lengths == [2]
