"""What `fit` accepts, and what it says to those who bring something else."""

from pathlib import Path

import torch
from torch import nn

from transformer_anatomy.lab.history import BETTER
from transformer_anatomy.model.arguments import check_choice, check_positive, check_size


def check_functions(model: object, batches: object, loss: object, evaluate: object, optimizer: object) -> None:
    """Raise `TypeError` for what cannot be called as `fit` does, `ValueError` for a model with nothing to train."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError("model has no parameter that requires a gradient: there is nothing to train")
    takes = {"batches": "a torch.Generator", "loss": "the model and a batch", "optimizer": "parameters and lr"}
    functions = {"batches": batches, "loss": loss, "optimizer": optimizer}
    if evaluate is not None:
        takes["evaluate"], functions["evaluate"] = "the model", evaluate
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"{name} must be a function, got {type(function).__name__}; it takes {takes[name]}")
    home = getattr(loss, "__module__", None) or type(loss).__module__
    if home in ("torch.nn.modules.loss", "torch.nn.functional") or loss is nn.functional.cross_entropy:
        called = getattr(loss, "__name__", type(loss).__name__)
        raise TypeError(
            f"loss must take the model and a batch, got {called}, which takes what the model gives: "
            f"write lambda model, batch: {called}(model(batch[0]), batch[1])"
        )


def check_numbers(
    *, n_steps: object, evaluate_every: object, seed: object, learning_rate: object, clip: object
) -> None:
    """Raise `ValueError` for numbers that make no run."""
    check_size("n_steps", n_steps)
    check_size("evaluate_every", evaluate_every)
    check_size("seed", seed, at_least=0)
    check_positive("learning_rate", learning_rate)
    if clip is not None:
        check_positive("clip", clip)


def check_patience(patience: object, watch: object, better: object, evaluate: object) -> None:
    """Raise `ValueError` for a patience that does not say what it waits for, or for what nobody waits."""
    if patience is None and (watch is not None or better is not None):
        raise ValueError("watch and better say what patience waits for: give patience, too")
    if patience is not None:
        check_size("patience", patience)
        if evaluate is None:
            raise ValueError("patience needs an evaluate function, of which it watches a figure")
    if better is not None:
        check_choice("better", better, BETTER)


def check_optimizer(optimizer: object) -> None:
    """Raise `TypeError` for what `optimizer` made, `ValueError` if it does not go by the gradients of one loss."""
    if not isinstance(optimizer, torch.optim.Optimizer):
        raise TypeError(f"optimizer must return a torch.optim.Optimizer, got {type(optimizer).__name__}")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError("optimizer must make a step from gradients alone; LBFGS computes the loss several times")


def check_folder(path: Path) -> None:
    """Make the folder of `path` now, not after hours. Raises `ValueError` for a `path` that is a folder itself."""
    if path.is_dir():
        raise ValueError(f"checkpoint must be a file, got the folder {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
