"""The figures of a model, layer by layer, that a diagnosis rests on."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.norms import norm


@dataclass(frozen=True)
class LayerFigures:
    """One layer in numbers; None where it has no such thing.

    | figure | what it is |
    |---|---|
    | `gradient` | Frobenius norm of the gradients of all its parameters |
    | `relative_gradient` | gradient · ‖weights‖ / loss: the share of the loss that hangs on it, to first order |
    | `similarity` | mean cosine between different tokens of a sample, in its output |
    | `size` | root mean square of its output |
    | `entropy` | of its attention, as a share of that of uniform attention |
    | `dead` | share of its ReLU neurons that fired for no token |
    | `update` | ‖ΔW‖/‖W‖ of one step, if an optimiser was given |
    """

    path: str
    gradient: float | None
    relative_gradient: float | None
    similarity: float | None
    size: float | None
    entropy: float | None
    dead: float | None
    update: float | None


def layer_figures(
    layer: Layer, seen: Observation, loss: float, *, batch_first: bool, updates: dict[str, float]
) -> LayerFigures:
    """The figures of one layer, after a pass forward and a pass backward."""
    parameters = list(layer.module.parameters())
    gradient = norm(p.grad for p in parameters)
    output = seen.outputs.get(layer.path)
    entropies = [f.entropy for f in below(seen.maps, layer.path) if not math.isnan(f.entropy)]
    fired = below(seen.fired, layer.path)
    return LayerFigures(
        path=layer.path,
        gradient=gradient,
        relative_gradient=gradient * norm(parameters) / loss if gradient is not None and loss > 0 else None,
        similarity=similarity(output, batch_first=batch_first),
        size=output.float().square().mean().sqrt().item() if output is not None and output.numel() else None,
        entropy=sum(entropies) / len(entropies) if entropies else None,
        dead=1 - torch.cat(fired).float().mean().item() if fired else None,
        update=max(below(updates, layer.path), default=None),
    )


def similarity(stream: Tensor | None, *, batch_first: bool) -> float | None:
    """Mean cosine between different tokens of a sample, over all samples; None for what is no stream of tokens."""
    if stream is None or stream.dim() != 3 or not stream.numel():
        return None
    unit = F.normalize((stream if batch_first else stream.transpose(0, 1)).double(), dim=-1)
    n = unit.shape[1]
    return None if n < 2 else ((unit.sum(dim=1).square().sum(dim=-1) - n) / (n * (n - 1))).mean().item()


def below(by_path: dict[str, object], path: str) -> list:
    """What is filed under `path` or a place inside it."""
    return [value for place, value in by_path.items() if place == path or place.startswith(f"{path}.")]
