"""A published model: found in an installed package, checked before use, and never unpickled."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import safetensors.torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode


def package_directory(package: str, distribution: str) -> Path:
    """The directory of an installed package, found without importing it; `ImportError` says how to install it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"this needs the package {distribution}: pip install {distribution}", name=package)
    return Path(spec.origin).parent


def read_safetensors(path: Path, *, sha256: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, if the SHA-256 of its bytes is `sha256`; else `ValueError`.

    The tensors lie in the mapped file: its pages are read when they are used, and copied when they are changed.
    """
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ValueError(f"{path.name} is not the published file: its SHA-256 is {found}, expected {sha256}")
    return safetensors.torch.load_file(path)


class NoDrawing(TorchFunctionMode):
    """Inside this context new weights are not drawn: a published model replaces them all.

    On "meta", where there are no numbers to draw, PyTorch would load a compiler for it, in seconds.
    """

    def __torch_function__(self, function, types, arguments=(), options=None):
        if function is nn.init.normal_:
            return options["tensor"]
        return function(*arguments, **(options or {}))
