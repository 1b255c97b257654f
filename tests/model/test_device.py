import re
from pathlib import Path

import pytest
import torch

import transformer_anatomy
from transformer_anatomy import available_devices, pick_device


def test_the_cpu_is_always_there():
    assert available_devices()[0] == "cpu"
    assert pick_device("cpu") == torch.device("cpu")


def test_auto_takes_the_fastest(monkeypatch):
    assert pick_device() == pick_device("auto") == torch.device(available_devices()[-1])
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert pick_device() == torch.device("cuda")


def test_a_device_is_passed_through():
    assert pick_device(torch.device("cpu")) == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "cuda:7", "mps", "meta", "gpu", "", "CPU"])
def test_a_device_that_is_not_there_is_named_with_those_that_are(monkeypatch, name):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=f"device '{name}' is not there; this machine has cpu"):
        pick_device(name)


def test_a_gpu_beyond_the_last_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert pick_device("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ValueError, match=r"device 'cuda:2' is not there; this machine has .*cuda"):
        pick_device("cuda:2")


def test_no_module_but_this_one_chooses_a_gpu():
    package = Path(transformer_anatomy.__file__).parent
    unconditional = re.compile(r"""\.cuda\(|device\s*=\s*["']cuda""")
    assert [p.name for p in package.rglob("*.py") if unconditional.search(p.read_text(encoding="utf-8"))] == []
