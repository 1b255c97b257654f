"""Read what passes through the taps of a model during one forward pass."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase

import torch
from torch import Tensor, nn

from transformer_anatomy.model.arguments import check_module
from transformer_anatomy.model.tap import Tap


class Trace(Mapping[str, Tensor]):
    """What one pass left at the taps: a mapping from the tap's name to its tensor, in the order of the computation."""

    def __init__(self, places: list[str], holds: str = "tensor"):
        self._places, self._holds = places, holds
        self._tensors: dict[str, Tensor] = {}

    def names(self) -> list[str]:
        """The taps that hold a tensor, in the order of the computation."""
        return list(self._tensors)

    def stack(self, pattern: str) -> Tensor:
        """The tensors whose names match `pattern` (`*` stands for anything), stacked along a new first axis.

        `trace.stack("*.self_attention.weights")` is `(layer, batch, head, query, key)`. Raises `KeyError` when nothing
        matches or a match is missing, `ValueError` when shapes differ.
        """
        # Taps that hold nothing come last, and are an error.
        places = [place for place in dict.fromkeys([*self, *self._places]) if fnmatchcase(place, pattern)]
        tensors = [self[place] for place in places or [pattern]]
        if len({tensor.shape for tensor in tensors}) > 1:
            shapes = ", ".join(f"{place} {tuple(self[place].shape)}" for place in places)
            raise ValueError(f"cannot stack tensors of different shapes: {shapes}")
        return torch.stack(tensors)

    def gradients(self) -> "Trace":
        """The gradient of the loss at the same places, after `loss.backward()`; several backward passes add up.

        Places that the loss does not depend on hold nothing. Raises `RuntimeError` when no gradient arrived anywhere.
        """
        gradients = Trace(self._places, holds="gradient")
        gradients._tensors = {place: self[place].grad for place in self.names() if _has_gradient(self[place])}
        if not gradients._tensors:
            if any(tensor.requires_grad for tensor in self.values()):
                raise RuntimeError("no gradient arrived at any tap: call backward() on a loss first")
            raise RuntimeError(
                "no gradient can arrive: the pass ran under no_grad or inference_mode, or nothing in it required one"
            )
        return gradients

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._tensors:
            raise KeyError(f"no {self._holds} at {name!r}; there is one at: {', '.join(self.names()) or 'no tap'}")
        return self._tensors[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"<Trace of {len(self)} taps: see names()>"


@contextmanager
def record(model: nn.Module, *patterns: str) -> Iterator[Trace]:
    """Record one forward pass of `model`, at all its taps or at those whose names match one of `patterns`.

        with record(model, "*.self_attention.weights") as trace:
            model(x)
        trace.stack("*.self_attention.weights")

    Works in training and evaluation, with and without gradients. Tensors are the pass's own, still in the graph.
    Raises `ValueError` when the model has no such tap, `RuntimeError` at a second pass and when nothing was recorded.
    """
    check_module("model", model)
    taps = {name.replace("_orig_mod.", ""): module for name, module in model.named_modules() if isinstance(module, Tap)}
    watched = {name: tap for name, tap in taps.items() if any(fnmatchcase(name, p) for p in patterns or ["*"])}
    if not watched:
        asked = f" matching {', '.join(map(repr, patterns))}" if patterns else ""
        raise ValueError(f"model has no tap{asked}; its taps: {', '.join(taps) or 'none'}")
    trace = Trace(list(watched))
    handles = [tap.register_forward_hook(_keep_in(trace, name)) for name, tap in watched.items()]
    try:
        yield trace
    finally:
        for handle in handles:
            handle.remove()
    if not trace:
        raise RuntimeError(
            f"recorded 0 of {len(watched)} taps: either no forward pass ran through them inside the block (a cache "
            "spares keys and values that it holds), or the model was compiled (torch.compile), and compiled code runs "
            "no hooks: run the model that was not compiled"
        )


def _keep_in(trace: Trace, name: str):
    def keep(tap: Tap, inputs: tuple, output: Tensor) -> Tensor | None:
        if torch.compiler.is_compiling():  # A hook baked into compiled code would outlive its removal.
            return None
        if name in trace:
            raise RuntimeError(f"{name} was already recorded: a trace holds one forward pass; record each pass anew")
        if output.requires_grad:
            output.retain_grad()
        trace._tensors[name] = output
        return output.clone()  # The model goes on with a copy, which it may change in place.

    return keep


def _has_gradient(tensor: Tensor) -> bool:
    return tensor.requires_grad and tensor.grad is not None
