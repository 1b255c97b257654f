"""The figures of a model, layer by layer, that a diagnosis rests on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer_anatomy.instruments.health.flow import Flow
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.norms import norm
from transformer_anatomy.instruments.updates import Update


@dataclass(frozen=True)
class LayerFigures:
    """One layer in numbers; None where it has no such thing.

    | figure | what it is |
    |---|---|
    | `gradient` | Frobenius norm of the gradients of all its parameters |
    | `relative_gradient` | gradient · ‖weights‖ / loss; None where the loss is not above 0 |
    | `similarity` | mean cosine between different tokens of a sample, in its output |
    | `size` | root mean square of its output |
    | `growth` | that over its input, where it keeps the shape; with the activation between it and the next layer |
    | `entropy` | of its attention, as a share of that of uniform attention |
    | `dead` | share of its ReLU neurons that fired for no token |
    | `update` | ‖ΔW‖/‖W‖ of one step in its matrix that moves most, if an optimiser was given |
    """

    path: str
    gradient: float | None
    relative_gradient: float | None
    similarity: float | None
    size: float | None
    growth: float | None
    entropy: float | None
    dead: float | None
    update: float | None


def stack_figures(stack: list[Layer], seen: Observation, loss: float, updates: dict[str, Update]) -> list[LayerFigures]:
    """The figures of the layers of a stack, after a pass forward and a pass backward."""
    following = [seen.flows.get(layer.path) for layer in stack[1:]]
    return [_figures(layer, after, seen, loss, updates) for layer, after in zip(stack, [*following, None], strict=True)]


def _figures(
    layer: Layer, following: Flow | None, seen: Observation, loss: float, updates: dict[str, Update]
) -> LayerFigures:
    parameters = list(layer.module.parameters())
    gradient = norm(p.grad for p in parameters)
    entropies = [f.entropy for f in below(seen.maps, layer.path) if not math.isnan(f.entropy)]
    fired = [neurons for key, neurons in seen.fired.items() if key[0] == layer.path]
    flow = seen.flows.get(layer.path, Flow())
    return LayerFigures(
        path=layer.path,
        gradient=gradient,
        relative_gradient=gradient * norm(parameters) / loss if gradient is not None and loss > 0 else None,
        similarity=flow.similarity_out,
        size=flow.size_out,
        growth=flow.growth(following),
        entropy=sum(entropies) / len(entropies) if entropies else None,
        dead=1 - torch.cat(fired).float().mean().item() if fired else None,
        update=max((update.ratio for update in below(updates, layer.path)), default=None),
    )


def stack_path(stack: Sequence[LayerFigures]) -> str:
    """The container that holds the layers of a stack, or the model if that says no more."""
    path = stack[0].path.rpartition(".")[0]
    return "the model" if path in ("", "layers", "layer", "blocks") else path


def below(by_path: dict[str, object], path: str) -> list:
    """What is filed under `path` or a place inside it."""
    return [value for place, value in by_path.items() if is_inside(place, path)]


def is_inside(place: str, path: str) -> bool:
    """Whether a place in a model is `path` or lies inside it; everything lies inside the empty path."""
    return not path or place == path or place.startswith(f"{path}.")
