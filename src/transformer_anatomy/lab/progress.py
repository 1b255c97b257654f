"""What a person sees of a long loop, and how they stop it."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from tqdm.std import tqdm


def progress_bar(total: int, shown: bool | None = None, **options) -> tqdm:
    """A bar of `total` steps that clears itself; by default only where somebody is watching it grow.

    That is a terminal or a notebook that is open; a notebook that a program runs keeps what is printed.
    """
    in_notebook = "JPY_SESSION_NAME" in os.environ and "TRANSFORMER_ANATOMY_BOOK" not in os.environ
    if shown is None:
        shown = in_notebook or sys.stderr.isatty()
    kind = tqdm
    if shown and in_notebook and find_spec("ipywidgets"):
        from tqdm.notebook import tqdm as kind
    return kind(total=total, disable=not shown, leave=False, **options)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, so that the work in hand can be finished; a second one interrupts at once.

    Only a program's main thread can be interrupted; elsewhere the event is never set.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(*_):
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
