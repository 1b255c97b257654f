"""What one pass through a model showed."""

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transformer_anatomy.instruments.health.flow import Flow
from transformer_anatomy.instruments.health.maps import MapFigures


@dataclass
class Observation:
    """What was seen, by the path of the module that computed it."""

    flows: dict[str, Flow] = field(default_factory=dict)
    maps: dict[str, MapFigures] = field(default_factory=dict)
    fired: dict[str, Tensor] = field(default_factory=dict)  # (neuron,): whether a token made it fire
    n_tokens: dict[str, int] = field(default_factory=dict)  # how many tokens those neurons saw
    normed: set[str] = field(default_factory=set)  # who ran a norm
    non_finite: dict[str, str] = field(default_factory=dict)  # in the order of the pass: what is wrong with its output

    def add_map(self, path: str, figures: MapFigures) -> None:
        self.maps[path] = figures.worse(self.maps[path]) if path in self.maps else figures

    def add_neurons(self, path: str, activations: Tensor) -> None:
        channels = activations.movedim(1, -1) if activations.dim() > 3 else activations  # images have theirs second
        fired = (channels.detach().flatten(end_dim=-2) > 0).any(dim=0)
        known = self.fired.get(path)
        self.fired[path] = fired | known if known is not None and known.shape == fired.shape else fired
        self.n_tokens[path] = self.n_tokens.get(path, 0) + channels[..., 0].numel()

    def add_non_finite(self, path: str, wrong: str, given: Tensor | None) -> None:
        too = given is not None and what_is_wrong(given) is not None
        came = "what it was given holds one already" if too else "what it was given does not"
        self.non_finite.setdefault(path, f"its output is the first that holds {wrong}; {came}")


def first_tensor(value: object) -> Tensor | None:
    """The first floating-point tensor among a module's inputs or outputs, however nested, without its graph."""
    if isinstance(value, Tensor):
        return value.detach() if value.is_floating_point() else None
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((tensor for part in value if (tensor := first_tensor(part)) is not None), None)
    return None


def what_is_wrong(tensor: Tensor) -> str | None:
    """NaN or an infinity, if the tensor holds one."""
    if not tensor.is_floating_point():
        return None
    # One pass, and the usual case; only a sum that is not finite, or overflowed, is looked at again.
    if math.isfinite(tensor.detach().sum(dtype=torch.promote_types(tensor.dtype, torch.float32)).item()):
        return None
    return "NaN" if tensor.isnan().any() else "an infinity" if tensor.isinf().any() else None
