"""Keeps what a benchmark measured in measured.json beside this file; the book's page `status` shows all of it.

    if arguments.record:
        record("a figure redrawn after a move, slowest 95th percentile", 3.1, "ms", at_most=16,
               command="make benchmark-figures")

A figure is measured by a command and written by it, never by hand; measuring again replaces it.
"""

import json
import math
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from transformer_anatomy.page.machine import machine

MEASURED = Path(__file__).with_name("measured.json")


def record(name: str, value: float, unit: str, *, at_most: float | None, command: str) -> None:
    """Merges one figure into measured.json, with the date, the machine, and the versions of Python and PyTorch.

    `name` says in words what was measured, and under which conditions; `at_most` is the bound, None where there is
    none; `command` measures it again. Raises `ValueError` for a value that is no finite number, or an empty word.
    """
    for argument, given in (("value", value), ("at_most", at_most)):
        if given is not None and not math.isfinite(given):
            raise ValueError(f"{argument} must be a finite number, got {given}")
    for argument, given in (("name", name), ("unit", unit), ("command", command)):
        if not given.strip():
            raise ValueError(f"{argument} must not be empty")
    figures = measured() | {
        name: {
            "value": float(f"{value:.4g}"),
            "unit": unit,
            "at_most": at_most,
            "command": command,
            "date": datetime.now(UTC).date().isoformat(),
            "machine": machine(),
            "versions": {"Python": platform.python_version(), "PyTorch": version("torch")},
        }
    }
    whole = MEASURED.with_suffix(".part")  # a benchmark that is interrupted leaves the old file
    whole.write_text(json.dumps(figures, indent=2, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(whole, MEASURED)


def measured() -> dict[str, dict[str, Any]]:
    """All figures by name; empty before the first."""
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
