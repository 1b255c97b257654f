"""Which device to compute on, and what it can, asked in one place."""

import torch


def available_devices() -> list[str]:
    """The kinds of device that this machine has, the fastest last: "cpu", then "mps" or "cuda" if present."""
    devices = ["cpu"]
    if torch.backends.mps.is_available():
        devices.append("mps")
    if torch.cuda.is_available():
        devices.append("cuda")
    return devices


def pick_device(name: str | torch.device = "auto") -> torch.device:
    """The device called `name`; "auto" is the fastest kind that is there.

    Raises `ValueError` that names what was asked and what exists.
    """
    available = available_devices()
    if name == "auto":
        name = available[-1]
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        device = None
    if device is None or device.type not in available or not _index_exists(device):
        raise ValueError(f"device {str(name)!r} is not there; this machine has {', '.join(available)}")
    return device


def gpus_in_use() -> list[torch.device]:
    """The CUDA devices of a process that has begun to compute on them; asking starts none."""
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count()) if torch.cuda.is_initialized()]


def widest_dtype(device: torch.device) -> torch.dtype:
    """The dtype with the most digits that `device` computes in: float64, but float32 on "mps"."""
    return torch.float32 if device.type == "mps" else torch.float64


def _index_exists(device: torch.device) -> bool:
    count = torch.cuda.device_count() if device.type == "cuda" else 1
    return (device.index or 0) < count
