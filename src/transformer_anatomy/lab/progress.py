"""What a person sees of a long loop, and how they stop it."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from tqdm.std import tqdm

_hidden = ContextVar("_hidden", default=False)


def progress_bar(total: int, shown: bool | None = None, **options) -> tqdm:
    """A bar of `total` steps that clears itself; by default only where somebody is watching it grow.

    That is a terminal or a notebook that is open; a notebook that a program runs keeps what is printed.
    """
    notebook = _in_notebook()
    if shown is None:
        opened = "JPY_SESSION_NAME" in os.environ and "TRANSFORMER_ANATOMY_BOOK" not in os.environ
        shown = not _hidden.get() and (opened if notebook else sys.stderr.isatty())
    if shown and notebook:
        options |= {"file": _NotebookLine(), "ncols": 80}
    return tqdm(total=total, disable=not shown, leave=False, **options)


@contextmanager
def hidden_bars() -> Iterator[None]:
    """Inside, no bar is shown unless it is asked for: many at once would write over each other."""
    before = _hidden.set(True)
    try:
        yield
    finally:
        _hidden.reset(before)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, so that the work in hand can be finished, and interrupts after it; a second one at once.

    The event is never set where Ctrl-C reaches nobody: outside a program's main thread, and where it is ignored.
    """
    asked = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield asked
        return

    def ask(*_):
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
    if asked.is_set():
        raise KeyboardInterrupt


class _NotebookLine:
    """One output of a notebook, for a bar to be drawn in; empty once the bar is gone. A widget would be left behind."""

    encoding = "utf-8"

    def __init__(self):
        from IPython.display import display

        self._output = display({"text/plain": ""}, raw=True, display_id=True)

    def write(self, text: str) -> None:
        self._output.update({"text/plain": text.strip()}, raw=True)

    def flush(self) -> None:
        pass


def _in_notebook() -> bool:
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")
