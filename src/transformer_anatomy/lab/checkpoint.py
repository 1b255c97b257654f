"""A run on disk: weights, optimiser and history in one safetensors file, to go on from as if nothing had happened."""

import json
import os
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer_anatomy.lab.history import History


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, history: History, settings: dict[str, object]
) -> None:
    """Write the state of a run after its latest step. An interrupted write leaves the older file as it was."""
    tensors = {f"model.{name}": tensor for name, tensor in _state(model).items()}
    tensors["history"] = torch.tensor(history.rows, dtype=torch.float64)
    numbers: dict[str, dict[str, object]] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{index}.{name}"] = value
            else:
                numbers.setdefault(index, {})[name] = value
    metadata = {
        "settings": json.dumps(_described(settings, model, optimizer)),
        "figures": json.dumps(history.figures),
        "numbers": json.dumps(numbers),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    # Copies, because tensors that share memory would be refused.
    save_file({name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}, partial, metadata)
    os.replace(partial, path)


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, settings: dict[str, object]
) -> History:
    """Bring `model` and `optimizer` to where the run stood; returns its history.

    Raises `ValueError`, and changes nothing, for a file that is damaged or was not written by `fit`, and for a run with
    other settings or a model with other tensors.
    """
    tensors, metadata = _read(path)
    _check_settings(path, metadata["settings"], _described(settings, model, optimizer))
    ours, theirs = _state(model), _part(tensors, "model")
    shapes = [{(name, t.shape, t.dtype) for name, t in state.items()} for state in (ours, theirs)]
    if wrong := sorted({name for name, *_ in shapes[0] ^ shapes[1]}):
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(f"checkpoint {path} is of another model: {', '.join(wrong[:3])}{more} differ")
    state: dict[int, dict[str, object]] = {int(index): fields for index, fields in metadata["numbers"].items()}
    for place, tensor in _part(tensors, "optimizer").items():
        index, _, name = place.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    with torch.no_grad():
        for name, tensor in ours.items():
            tensor.copy_(theirs[name])
    rows = [(int(step), *row) for step, *row in tensors["history"].tolist()]
    return History(rows, {int(step): figures for step, figures in metadata["figures"].items()})


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, dict]]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
            metadata = file.metadata() or {}
    except SafetensorError as error:
        message = f"checkpoint {path} is damaged or no safetensors file ({error}); delete it or name another"
        raise ValueError(message) from None
    if "history" not in tensors or not {"settings", "figures", "numbers"} <= metadata.keys():
        raise ValueError(f"checkpoint {path} was not written by fit; name another file")
    return tensors, {name: json.loads(text) for name, text in metadata.items()}


def _described(settings: dict[str, object], model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, object]:
    """What must not change in the middle of a run, as it reads in a file."""
    known = {**settings, "optimizer": type(optimizer).__name__}
    for index, group in enumerate(optimizer.param_groups):
        of = f" of group {index}" if len(optimizer.param_groups) > 1 else ""
        known |= {f"{name}{of}": value for name, value in group.items() if name not in ("params", "lr")}
    known["frozen"] = [name for name, p in model.named_parameters() if not p.requires_grad]
    return json.loads(json.dumps(known, default=repr))


def _check_settings(path: Path, there: dict[str, object], here: dict[str, object]) -> None:
    names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
    if names:
        differences = ", ".join(f"{name} = {there.get(name)!r} there, {here.get(name)!r} here" for name in names)
        raise ValueError(f"checkpoint {path} is of another run: {differences}; delete it or name another")


def _part(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{kind}."): tensor for name, tensor in tensors.items() if name.startswith(f"{kind}.")}


def _state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, each once, however many names it has."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
