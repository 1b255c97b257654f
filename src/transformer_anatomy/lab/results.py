"""Results on disk: one JSON file for each run of a sweep, so that none is computed twice."""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor


class ResultFolder:
    """Where the results of a sweep are kept; a file's name is a digest of the settings and of what was run with them.

    Both stand inside, too: `run` says which function it was, by name and code. Raises `ValueError` for a setting that
    does not read the same in the next session, such as a function.
    """

    def __init__(self, folder: Path, settings: Sequence[Mapping[str, object]], run: Mapping[str, str]):
        self.folder, self.settings, self.run = folder, [_text(setting) for setting in settings], dict(run)
        texts = [f"{text} {_text(self.run)}" for text in self.settings]
        digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts]
        if len(set(digests)) < len(digests):
            raise ValueError("a folder needs settings that read differently: name each choice by a word")
        self.files = [folder / f"{digest}.json" for digest in digests]

    def read(self) -> dict[int, dict[str, object]]:
        """What is there already, by the index of the run. Raises `ValueError` for a file that is damaged."""
        return {index: self._result(index) for index, file in enumerate(self.files) if file.exists()}

    def write(self, index: int, result: Mapping[str, object]) -> None:
        """Keep a result. An interrupted write leaves no half of it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"run": self.run, "setting": json.loads(self.settings[index]), "result": result}
        partial = self.files[index].with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(content, indent=1), encoding="utf-8")
        os.replace(partial, self.files[index])

    def _result(self, index: int) -> dict[str, object]:
        file = self.files[index]
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            run, setting, result = content["run"], content["setting"], dict(content["result"])
        except (ValueError, TypeError, KeyError):
            raise ValueError(f"{file} holds no result of a sweep; delete it or name another folder") from None
        if _text(setting) != self.settings[index] or run != self.run:
            what = f"other settings, {setting}" if run == self.run else f"another function, {run}"
            raise ValueError(f"{file} holds the result of {what}; delete it or name another folder")
        return result


def plain(value: object) -> object:
    """A single number of NumPy or PyTorch as Python's; anything else as it is."""
    single = isinstance(value, np.generic) or (isinstance(value, np.ndarray | Tensor) and math.prod(value.shape) == 1)
    return value.item() if single else value


def _text(setting: Mapping[str, object]) -> str:
    return json.dumps(setting, sort_keys=True, default=_lasting)


def _lasting(value: object) -> dict[str, str]:
    text = repr(value)
    if " at 0x" in text:
        raise ValueError(f"a folder needs settings that read the same tomorrow, got {text}: name the choice by a word")
    return {"python": text}
