"""A run on disk: weights, optimiser and history in one safetensors file, to go on from as if nothing had happened."""

import json
import os
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import nn


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, run: dict, history: list[dict]
) -> None:
    """Write the state of a run after its latest step. An interrupted write leaves the older file as it was."""
    tensors = {f"model.{name}": tensor for name, tensor in _state(model).items()}
    numbers: dict[str, dict[str, object]] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, torch.Tensor):
                tensors[f"optimizer.{index}.{name}"] = value
            else:
                numbers.setdefault(str(index), {})[name] = value
    metadata = {"run": json.dumps(run), "history": json.dumps(history), "numbers": json.dumps(numbers)}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    save_file({name: tensor.detach().contiguous().cpu() for name, tensor in tensors.items()}, partial, metadata)
    os.replace(partial, path)


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, *, run: dict) -> list[dict]:
    """Bring `model` and `optimizer` to where the run stood; returns its history.

    Raises `ValueError` when the checkpoint is of a run with other settings or of a model with other parameters.
    """
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    if "run" not in metadata:
        raise ValueError(f"checkpoint {path} was not written by fit")
    other = {name: value for name, value in json.loads(metadata["run"]).items() if run.get(name) != value}
    if other:
        differences = ", ".join(f"{name} = {value!r} there, {run.get(name)!r} here" for name, value in other.items())
        raise ValueError(f"checkpoint {path} is of another run: {differences}; delete it or name another")
    _load_model(path, model, tensors)
    state: dict[int, dict[str, object]] = {}
    for name, tensor in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimizer":
            index, _, field = rest.partition(".")
            state.setdefault(int(index), {})[field] = tensor
    for index, fields in json.loads(metadata["numbers"]).items():
        state.setdefault(int(index), {}).update(fields)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    return json.loads(metadata["history"])


def _load_model(path: Path, model: nn.Module, tensors: dict[str, torch.Tensor]) -> None:
    ours = _state(model)
    theirs = {name.partition(".")[2]: tensor for name, tensor in tensors.items() if name.startswith("model.")}
    shapes = [{(name, tuple(tensor.shape)) for name, tensor in state.items()} for state in (ours, theirs)]
    wrong = {name for name, _ in shapes[0] ^ shapes[1]}
    if wrong:
        raise ValueError(f"checkpoint {path} is of another model: {', '.join(sorted(wrong)[:3])} differ")
    with torch.no_grad():
        for name, tensor in ours.items():
            tensor.copy_(theirs[name])


def _state(model: nn.Module) -> dict[str, torch.Tensor]:
    """Parameters and buffers, each once, however many names it has."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}
