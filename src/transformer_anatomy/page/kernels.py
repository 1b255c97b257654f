"""The kernels that run the notebooks of a build: in threads of their own, and all ended when the build is."""

import asyncio
import signal
import threading
import time
from pathlib import Path

from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from nbformat import NotebookNode


class Kernels:
    """Runs notebooks, each in a kernel of its own, until it is told to stop."""

    def __init__(self, *, timeout: int | None, allow_errors: bool):
        self.settings = {"timeout": timeout, "allow_errors": allow_errors}
        self.clients: list[NotebookClient] = []
        self.stopped = threading.Event()

    def run(self, path: Path, notebook: NotebookNode) -> float:
        """Fills in the outputs; returns the seconds. Raises what nbclient raises when a cell fails."""
        resources = {"metadata": {"path": str(path.parent)}}
        client = NotebookClient(
            notebook, **self.settings, resources=resources, record_timing=False, on_cell_execute=self._unless_stopped
        )
        self.clients.append(client)
        begun = time.perf_counter()
        asyncio.run(client.async_execute())
        return time.perf_counter() - begun

    def stop(self) -> None:
        """Ends every kernel, also those that are about to start; returns at once."""
        self.stopped.set()
        for client in self.clients:
            if client.km is not None and client.km.has_kernel:
                asyncio.run(client.km.provisioner.send_signal(signal.SIGTERM))

    def _unless_stopped(self, **_: object) -> None:
        if self.stopped.is_set():
            raise DeadKernelError("stopped")
