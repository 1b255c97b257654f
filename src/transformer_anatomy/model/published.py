"""A published model: found in an installed package, checked before use, and never unpickled."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import safetensors
import safetensors.torch
from torch import Tensor


def package_directory(package: str, distribution: str) -> Path:
    """The directory of an installed package, found without importing it; `ImportError` says how to install it."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ImportError(f"this needs the package {distribution}: pip install {distribution}", name=package)
    return Path(spec.origin).parent


def read_safetensors(path: Path, *, sha256: str) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, if the SHA-256 of its bytes is `sha256`; else `ValueError`.

    The bytes that are checked are the bytes that are read.
    """
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(f"{path.name} is not the published file: its SHA-256 is {found}, expected {sha256}")
    return safetensors.torch.load(content)
