"""A run on disk: weights, optimiser and history in one safetensors file, to go on from as if nothing had happened."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from transformer_anatomy.lab.history import History
from transformer_anatomy.lab.identity import fingerprint, state_of
from transformer_anatomy.lab.same_run import Identity, check_beginning, check_settings, described


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    history: History,
    settings: dict[str, object],
    identity: Identity,
) -> None:
    """Write the state of a run after its latest step. An interrupted write leaves the older file as it was."""
    tensors = {f"model.{name}": tensor for name, tensor in state_of(model).items()}
    tensors["history"] = torch.tensor(history.rows, dtype=torch.float64)
    numbers: dict[str, dict[str, object]] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{index}.{name}"] = value
            else:
                numbers.setdefault(index, {})[name] = value
    metadata = {
        "settings": json.dumps(described(settings, model, optimizer)),
        "figures": json.dumps(history.figures),
        "numbers": json.dumps(numbers),
        "identity": json.dumps(identity),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    # Copies, because tensors that share memory would be refused.
    save_file({name: t.detach().to("cpu", copy=True).contiguous() for name, t in tensors.items()}, partial, metadata)
    os.replace(partial, path)


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    settings: dict[str, object],
    identity: Identity,
    first_loss: Callable[[], float],
) -> tuple[History, Identity]:
    """Bring `model` and `optimizer` to where the run stood; returns its history, and the identity that it began with.

    `model` may stand where the run began, so that `first_loss` computes again what its first step did, or where the
    checkpoint stands. Raises `ValueError`, and changes nothing, for a file that is damaged or was not written by `fit`,
    and for a run with other settings, data or losses, from another start or of another model.
    """
    tensors, metadata = _read(path)
    check_settings(path, metadata["settings"], described(settings, model, optimizer))
    ours, theirs = state_of(model), _part(tensors, "model")
    _check_shapes(path, ours, theirs)
    began = metadata["identity"]
    stands = fingerprint(theirs[name] for name in ours)
    check_beginning(path, began, identity, stands, first_losses=(tensors["history"][0, 2].item(), first_loss))
    state: dict[int, dict[str, object]] = {int(index): fields for index, fields in metadata["numbers"].items()}
    for place, tensor in _part(tensors, "optimizer").items():
        index, _, name = place.partition(".")
        state.setdefault(int(index), {})[name] = tensor
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    _copy(theirs, ours)
    rows = [(int(step), *row) for step, *row in tensors["history"].tolist()]
    return History(rows, {int(step): figures for step, figures in metadata["figures"].items()}), began


def load_weights(checkpoint: str | Path, model: nn.Module) -> None:
    """Give `model` the weights and buffers in a file that `fit` has written, whatever run it is of.

    Raises `ValueError`, and changes nothing, for a file that is damaged or was not written by `fit` and for a model
    with other tensors; `FileNotFoundError` where there is none.
    """
    path = Path(checkpoint)
    tensors, _ = _read(path)
    ours, theirs = state_of(model), _part(tensors, "model")
    _check_shapes(path, ours, theirs)
    _copy(theirs, ours)


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, dict]]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
            metadata = file.metadata() or {}
    except SafetensorError as error:
        message = f"checkpoint {path} is damaged or no safetensors file ({error}); delete it or name another"
        raise ValueError(message) from None
    if "history" not in tensors or not {"settings", "figures", "numbers", "identity"} <= metadata.keys():
        raise ValueError(f"checkpoint {path} was not written by fit; name another file")
    return tensors, {name: json.loads(text) for name, text in metadata.items()}


def _check_shapes(path: Path, ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    shapes = [{(name, t.shape, t.dtype) for name, t in state.items()} for state in (ours, theirs)]
    if wrong := sorted({name for name, *_ in shapes[0] ^ shapes[1]}):
        more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
        raise ValueError(f"checkpoint {path} is of another model: {', '.join(wrong[:3])}{more} differ")


def _copy(source: dict[str, Tensor], target: dict[str, Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in target.items():
            tensor.copy_(source[name])


def _part(tensors: dict[str, Tensor], kind: str) -> dict[str, Tensor]:
    return {name.removeprefix(f"{kind}."): tensor for name, tensor in tensors.items() if name.startswith(f"{kind}.")}
