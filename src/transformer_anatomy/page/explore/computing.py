"""One frame of a figure from one setting of its controls: what the stored frames and the live figure share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from transformer_anatomy.page.explore.grids import Grid
from transformer_anatomy.page.explore.marks import Drawing
from transformer_anatomy.page.plotting.arrays import as_arrays


class Frame(NamedTuple):
    """Arrays by entry, labels by axis, and the sentence under the figure."""

    arrays: dict[str, np.ndarray]
    labels: dict[str, tuple]
    readout: str


@dataclass
class Computation:
    """A function with the grids of its parameters, and with how its results are drawn and put in words."""

    function: Callable[..., Any]
    controls: dict[str, Grid]
    readout: Callable[..., str] | None
    drawing: Drawing | None = None

    def __post_init__(self):
        if not self.controls:
            raise TypeError("explore needs at least one control, such as temperature=logspace(0.1, 10, 21, start=1)")
        if "device" in self.controls:
            raise TypeError(
                "device is no control: where a kernel is, a function that takes `device` gets a menu of them"
            )
        if not callable(self.function):
            raise TypeError(f"explore needs a function, got {type(self.function).__name__}")
        if self.readout is not None and not callable(self.readout):
            raise TypeError(f"readout must be a function that returns a sentence, got {self.readout!r}")
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except ValueError:
            raise TypeError(f"{self.name} does not tell its parameters: wrap it in a function") from None
        anything = any(p.kind is p.VAR_KEYWORD for p in parameters)
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        required = [p.name for p in parameters if p.name in names and p.default is p.empty and p.name != "device"]
        if unknown := [name for name in self.controls if name not in names and not anything]:
            raise TypeError(f"controls {unknown} are no parameters of {self.name}, which takes {names}")
        if missing := [name for name in required if name not in self.controls]:
            raise TypeError(f"{self.name} needs {missing}, for which explore got no control")
        self.takes_device = "device" in names

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    def call(self, settings: Mapping[str, Any], device: str = "cpu") -> tuple[Any, dict[str, np.ndarray]]:
        """What the function returns, and that as arrays. RuntimeError with the settings where it fails."""
        try:
            returned = self.function(**settings, **({"device": device} if self.takes_device else {}))
            # Copies: the function may hand out the same memory again.
            return returned, {name: array.copy() for name, array in as_arrays(returned).items()}
        except Exception as error:
            raise self._failed(settings, error) from error

    def frame(self, settings: Mapping[str, Any], device: str = "cpu") -> Frame:
        """The frame at these settings. RuntimeError with the settings where it cannot be computed or drawn."""
        returned, arrays = self.call(settings, device)
        try:
            self.drawing.check(arrays)
            labels = self.drawing.labels(arrays, settings)
            readout = self.readout(returned, **settings) if self.readout else ""
            if not isinstance(readout, str):
                raise TypeError(f"readout must return a sentence (str), got {type(readout).__name__}")
        except Exception as error:
            raise self._failed(settings, error) from error
        return Frame(arrays, labels, readout.replace(" %", "\N{NO-BREAK SPACE}%"))

    def _failed(self, settings: Mapping[str, Any], error: Exception) -> RuntimeError:
        call = ", ".join(f"{k}={v:.6g}" if isinstance(v, float) else f"{k}={v!r}" for k, v in settings.items())
        return RuntimeError(f"{self.name}({call}): {type(error).__name__}: {error}")
