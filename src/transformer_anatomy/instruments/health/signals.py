"""Faults of what flows through a model: signals and gradients that collapse, explode, saturate, die or vanish."""

import math
from collections.abc import Iterator

import torch
from torch import nn

from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.figures import LayerFigures, below
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.norms import norm


def collapsed(stack: list[LayerFigures], entering: float | None) -> Iterator[Finding]:
    """The first layer whose output is the same for all tokens, though different tokens came in."""
    if entering is None or 1 - entering < at.DISTINCT_INPUT_DISTANCE:
        return
    for layer in stack:
        if layer.similarity is not None and 1 - layer.similarity < at.COLLAPSED_DISTANCE:
            alike = f"the mean cosine between its tokens is 1 - {1 - layer.similarity:.0e}; {entering:.2f} came in"
            yield Finding("collapsed", layer.path, alike)
            return


def exploding(stack: list[LayerFigures], entering: float | None) -> Iterator[Finding]:
    """The layer on which most hangs, in a stack through which the stream or the gradient grows without bound."""
    grown, ratio = growth(stack, entering), _layer_ratio(stack)
    evidence = []
    if grown is not None and grown > at.EXPLODING_STREAM_GROWTH:
        evidence.append(f"the stream grows {grown:.0f}-fold through the stack")
    if ratio is not None and ratio > at.EXPLODING_LAYER_RATIO:
        evidence.append(f"the gradient of {stack[0].path} is {ratio:.0f} times that of {stack[-1].path}")
    relative = {layer.path: layer.relative_gradient for layer in stack if layer.relative_gradient is not None}
    steepest = max(relative, key=relative.get, default=stack[0].path)
    if evidence and relative.get(steepest, math.inf) > at.EXPLODING_RELATIVE_GRADIENT:
        if relative:
            evidence.append(f"gradient · weights / loss is {relative[steepest]:.0f}, usual are 2 to 20")
        yield Finding("exploding", steepest, "; ".join(evidence))


def saturated(stack: list[LayerFigures]) -> Iterator[Finding]:
    """The layer whose attention is nearest to copying single tokens, if too near."""
    sharpest = min(stack, key=lambda layer: math.inf if layer.entropy is None else layer.entropy)
    if sharpest.entropy is not None and sharpest.entropy < at.SATURATED_ENTROPY:
        share = f"the mean entropy of its attention is {100 * sharpest.entropy:.1f} % of that of uniform attention"
        yield Finding("saturated", sharpest.path, f"{share}: almost every query reads a single key")


def dead(stack: list[LayerFigures], seen: Observation) -> Iterator[Finding]:
    """Layers most of whose ReLU neurons fire for no token."""
    for layer in stack:
        n_tokens = min(below(seen.n_tokens, layer.path), default=0)
        if layer.dead is not None and layer.dead >= at.DEAD_SHARE and n_tokens >= at.DEAD_MIN_TOKENS:
            yield Finding(
                "dead", layer.path, f"{100 * layer.dead:.0f} % of its neurons fired for none of {n_tokens} tokens"
            )


def vanishing(stack: list[Layer], figures: list[LayerFigures]) -> Iterator[Finding]:
    """A first layer that hardly learns beside the last, or matrices that do beside the rest of their layer."""
    ratio = _layer_ratio(figures)
    if ratio is not None and ratio < at.VANISHING_LAYER_RATIO:
        yield Finding("vanishing", figures[0].path, f"its gradient is {ratio:.0e} of that of {figures[-1].path}")
    faint = {}
    for (path, module), layer in zip(stack, figures, strict=True):
        for name, p in module.named_parameters():
            if p.dim() > 1 and p.grad is not None and layer.gradient:
                share = norm([p.grad]) / layer.gradient
                if share < at.VANISHING_MATRIX_RATIO:
                    faint[f"{path}.{name}"] = share
    if faint:
        least = min(faint, key=faint.get)
        evidence = (
            f"its gradient is {faint[least]:.0e} of that of its layer; so faint are {len(faint)} matrices of the stack"
        )
        yield Finding("vanishing", least, evidence)


def badly_updated(model: nn.Module, updates: dict[str, float]) -> Iterator[Finding]:
    """The matrices that a step of the optimiser moves most and least, if too much or too little."""
    matrices = {path: ratio for path, ratio in updates.items() if model.get_parameter(path).dim() > 1}
    trained = {path: ratio for path, ratio in matrices.items() if model.get_parameter(path).grad is not None}
    if not trained:
        return
    most, least = max(trained, key=trained.get), min(trained, key=trained.get)
    if trained[most] > at.LARGE_UPDATE:
        yield Finding(
            "update-too-large", most, f"one step changes it by {trained[most]:.1e} of its size; 1e-3 is usual"
        )
    spacing = torch.finfo(model.get_parameter(least).dtype).eps
    if trained[least] < at.SMALL_UPDATE_SPACINGS * spacing:
        yield Finding(
            "update-too-small",
            least,
            f"one step changes it by {trained[least]:.1e} of its size, numbers are {spacing:.0e} apart",
        )


def growth(stack: list[LayerFigures], entering: float | None) -> float | None:
    sizes = [layer.size for layer in stack if layer.size is not None]
    return max(sizes) / entering if sizes and entering else None


def _layer_ratio(stack: list[LayerFigures]) -> float | None:
    first, last = stack[0].gradient, stack[-1].gradient
    return first / last if first is not None and last else None
