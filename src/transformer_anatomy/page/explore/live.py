"""The figure in JupyterLab: the script of the book, answered by the kernel."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from transformer_anatomy.model.device import available_devices, pick_device
from transformer_anatomy.page.assets import asset

if TYPE_CHECKING:
    from transformer_anatomy.page.explore.explorer import Explorer


class LiveFigure(anywidget.AnyWidget):
    """Answers two messages of the page: "hello" with the devices, "compute" with a frame or with what went wrong."""

    _esm = asset("explore.js", "layers.js", "live.js")
    _css = asset("tokens.css", "explore.css")
    html = traitlets.Unicode().tag(sync=True)

    def __init__(self, explorer: Explorer):
        self._computation = explorer.computation
        super().__init__(html=explorer.figure())
        self.on_msg(lambda _widget, content, _buffers: self.send(*self.answer(content)))

    def answer(self, content: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        """The answer to one message, and its buffers: one of float32 numbers for each entry of the frame."""
        if content.get("type") == "hello":
            return {"type": "hello", "devices": available_devices() if self._computation.takes_device else []}, []
        try:
            return self._computed(content)
        except Exception as error:  # whatever it is, the reader gets it in words
            words = str(error) or type(error).__name__
            return {"type": "error", "id": content.get("id"), "text": words}, []

    def _computed(self, content: dict[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
        controls, asked = self._computation.controls, content["controls"]
        if set(asked) != set(controls):
            raise ValueError(f"the controls are {list(controls)}, the page sent {list(asked)}")
        settings = {name: grid.accept(name, asked[name]) for name, grid in controls.items()}
        device = str(pick_device(content.get("device") or "cpu"))
        begun = time.perf_counter()
        frame = self._computation.frame(settings, device)
        answer = {
            "type": "frame",
            "id": content["id"],
            "ms": 1000 * (time.perf_counter() - begun),
            "labels": frame.labels,
            "readout": frame.readout,
        }
        return answer, [array.astype("<f4").tobytes() for array in frame.arrays.values()]
