import copy
import re
from pathlib import Path

import pytest
import torch

import transformer_anatomy
from transformer_anatomy import (
    Encoder,
    TransformerConfig,
    attention_scores,
    attention_weights,
    available_devices,
    causal_mask,
    padding_mask,
    pick_device,
    record,
)
from transformer_anatomy.model.attention import fused_attention
from transformer_anatomy.model.device import gpus_in_use, widest_dtype


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


def test_only_a_process_that_computes_on_gpus_has_some_in_use(monkeypatch):
    assert gpus_in_use() == []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert gpus_in_use() == []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert gpus_in_use() == [torch.device("cuda:0"), torch.device("cuda:1")]


def test_no_module_but_this_one_chooses_a_gpu():
    """Others may ask of what type a device is that somebody chose; NCCL shares numbers through GPUs alone."""
    package = Path(transformer_anatomy.__file__).parent
    named = re.compile(
        r"""\.cuda\(|(?<!type == )["'](cuda|mps)|(cuda|mps)\.is_available|torch\.load\((?!.*map_location)"""
    )
    assert sorted(p.name for p in package.rglob("*.py") if named.search(p.read_text(encoding="utf-8"))) == [
        "device.py",
        "parallel.py",
    ]


def test_the_widest_dtype_is_one_that_the_device_has():
    assert widest_dtype(torch.device("cpu")) == widest_dtype(torch.device("cuda")) == torch.float64
    assert widest_dtype(torch.device("mps")) == torch.float32
    for name in available_devices():
        device = torch.device(name)
        assert torch.ones(2, device=device, dtype=widest_dtype(device)).sum().item() == 2


@pytest.mark.parametrize("device", available_devices())
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-4), (torch.float16, 1e-2), (torch.bfloat16, 5e-2)], ids=str
)
@pytest.mark.parametrize("shape", ["(batch, 1, query, key)", "(batch, 1, 1, key)", "(query, key)", "no mask"])
def test_every_device_computes_attention_as_the_cpu_does_in_float64(device, dtype, tolerance, shape):
    """The kernel and the written-out way, with masks that broadcast over heads and rows that see nothing."""
    queries, keys, values = (torch.randn(3, 4, n, 16, dtype=dtype) for n in (7, 9, 9))
    causal, padding = causal_mask(7, 9), padding_mask([9, 4, 0], 9)
    masks = {"(batch, 1, query, key)": causal & padding, "(batch, 1, 1, key)": padding, "(query, key)": causal}
    mask = masks.get(shape)
    expected = attention_weights(attention_scores(queries.double(), keys.double()), mask) @ values.double()
    queries, keys, values = (tensor.to(device) for tensor in (queries, keys, values))
    mask = None if mask is None else mask.to(device)
    written_out = attention_weights(attention_scores(queries, keys), mask) @ values
    for mixed in (written_out, fused_attention(queries, keys, values, mask)):
        assert mixed.device.type == device and mixed.dtype == dtype
        assert (mixed.cpu().double() - expected).abs().max() < tolerance


@pytest.mark.parametrize("device", available_devices())
def test_every_device_computes_an_encoder_as_the_cpu_does_in_float64(device):
    config = TransformerConfig(vocab_size=9, d_model=16, n_heads=4, n_layers=2, d_feedforward=32)
    encoder, ids = Encoder(config).eval(), torch.randint(9, (3, 6))
    mask = padding_mask([6, 3, 1], 6) & causal_mask(6)
    with torch.no_grad():
        expected = copy.deepcopy(encoder).double()(ids, mask)
        encoder, ids, mask = encoder.to(device), ids.to(device), mask.to(device)
        plain = encoder(ids, mask)
        with record(encoder):
            written_out = encoder(ids, mask)
    for stream in (plain, written_out):
        assert stream.device.type == device
        assert (stream.cpu().double() - expected).abs().max() < 1e-4
