"""Faults of what flows through a model: signals and gradients that collapse, explode, saturate, die or vanish."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.figures import LayerFigures, below, is_inside
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.flow import Flow
from transformer_anatomy.instruments.health.numerals import percent_text, value_text
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.norms import norm


def collapsed(stack: list[LayerFigures], seen: Observation) -> Iterator[Finding]:
    """The first layer whose output is the same for all tokens, though different tokens came in."""
    entering = seen.flows.get(stack[0].path, Flow()).similarity_in
    if entering is None or 1 - entering < at.DISTINCT_INPUT_DISTANCE:
        return
    for layer in stack:
        if layer.similarity is not None and 1 - layer.similarity < at.COLLAPSED_DISTANCE:
            alike = f"its tokens are all alike: their mean cosine is 1 − {value_text(max(0.0, 1 - layer.similarity))}"
            yield Finding("collapsed", layer.path, f"{alike}, while {value_text(entering)} came into {stack[0].path}")
            return


def exploding(stack: list[LayerFigures], seen: Observation) -> Iterator[Finding]:
    """The layer with the largest gradient, in a stack through which the stream or the gradient grows without bound."""
    evidence = []
    growth = total_growth(stack)
    normed = any(is_inside(place, layer.path) for layer in stack for place in seen.normed)
    if growth > at.EXPLODING_STREAM_GROWTH and not normed:
        evidence.append(f"no layer holds a norm, and the stream grows {value_text(growth)}-fold through the stack")
    ratio = layer_ratio(stack)
    if ratio is not None and ratio > at.EXPLODING_LAYER_RATIO:
        times = f"{value_text(ratio)} times that of {stack[-1].path}"
        evidence.append(f"the gradient of {stack[0].path} is {times}")
    if evidence:
        steepest = max(stack, key=lambda layer: layer.gradient or 0.0)
        yield Finding("exploding", steepest.path, "; ".join(evidence))


def dead(layers: set[str], seen: Observation) -> Iterator[Finding]:
    """Layers, and activations outside layers, most of whose ReLU neurons fire for no token."""
    places = dict.fromkeys((layer if layer in layers else place) for layer, place, _ in seen.fired)
    for where in places:
        keys = [key for key in seen.fired if where in key[:2] and (where in layers or key[0] not in layers)]
        share = 1 - torch.cat([seen.fired[key] for key in keys]).float().mean().item()
        n_tokens = min(seen.n_tokens[key] for key in keys)
        if share >= at.DEAD_SHARE and n_tokens >= at.DEAD_MIN_TOKENS:
            words = f"{percent_text(share)} of its ReLU neurons fired for none of {n_tokens:,} tokens"
            yield Finding("dead", where, words)


def vanishing(
    model: nn.Module, stack: list[Layer], figures: list[LayerFigures], seen: Observation
) -> Iterator[Finding]:
    """A first layer that hardly learns beside the last, or matrices that do beside the rest of their layer."""
    ratio = layer_ratio(figures)
    if ratio is not None and ratio < at.VANISHING_LAYER_RATIO and not (ratio == 0 and _holds_gate(model)):
        times = f"{value_text(ratio)} times that of {figures[-1].path}"
        yield Finding("vanishing", figures[0].path, f"its gradient is only {times}")
    shares = matrix_shares(stack, figures, seen)
    faint = {path: share for path, share in shares.items() if share < at.VANISHING_MATRIX_RATIO}
    if faint:
        least = min(faint, key=faint.get)
        many = f"; {len(faint)} matrices of the stack are so faint" if len(faint) > 1 else ""
        yield Finding("vanishing", least, f"its gradient is only {value_text(faint[least])} of that of its layer{many}")


def matrix_shares(stack: list[Layer], figures: list[LayerFigures], seen: Observation) -> dict[str, float]:
    """The gradient of each matrix, or of its third that is least, over that of its layer."""
    shares = {}
    for (path, module), layer in zip(stack, figures, strict=True):
        if below(seen.maps, path) and layer.entropy is None:
            continue  # Where a query has one key to choose from, queries and keys learn nothing, and rightly so.
        for name, p in module.named_parameters():
            if p.dim() > 1 and p.grad is not None and layer.gradient:
                share = min(norm([part]) for part in _parts(p.grad)) / layer.gradient
                if share:  # 0 is a closed gate, not a faint signal
                    shares[f"{path}.{name}"] = share
    return shares


def _holds_gate(model: nn.Module) -> bool:
    """Whether a weight starts at 0, as gates and last layers may: nothing passes back through it in the first step."""
    return any(not p.any() for path, p in model.named_parameters() if not path.endswith("bias"))


def _parts(matrix: Tensor) -> tuple[Tensor, ...]:
    """Queries, keys and values, where one matrix holds all three; else the matrix."""
    rows, columns = matrix.shape[0], matrix.shape[1]
    if matrix.dim() == 2 and max(rows, columns) == 3 * min(rows, columns):
        return matrix.chunk(3, dim=0 if rows > columns else 1)
    return (matrix,)


def total_growth(stack: list[LayerFigures]) -> float:
    """How many times as large the stream leaves the layers that keep its shape."""
    return math.prod(layer.growth for layer in stack if layer.growth is not None)


def layer_ratio(stack: list[LayerFigures]) -> float | None:
    """The gradient of the first layer over that of the last."""
    first, last = stack[0].gradient, stack[-1].gradient
    return first / last if first is not None and last else None
