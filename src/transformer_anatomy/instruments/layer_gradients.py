"""The gradient of each repeated layer of a model, and how the layers compare."""

from dataclasses import dataclass

from torch import Tensor, nn

from transformer_anatomy.instruments.health.stacks import Layer, find_stacks
from transformer_anatomy.instruments.norms import norm
from transformer_anatomy.model.arguments import check_module, check_positive
from transformer_anatomy.model.device import widest_dtype


@dataclass(frozen=True)
class StackGradients:
    """One stack of layers after a backward pass, from its first layer to its last.

    | figure | what it is |
    |---|---|
    | `paths` | where the layers are in the model, such as `encoder.layers.0` |
    | `norms` | Frobenius norm of the gradients of all parameters of a layer; None where none arrived, which is not 0 |
    | `cosines` | between the gradients of a layer and the next; None where one is missing, 0 or of another shape |
    """

    paths: tuple[str, ...]
    norms: tuple[float | None, ...]
    cosines: tuple[float | None, ...]

    @property
    def first_to_last(self) -> float | None:
        """The norm of the first layer over that of the last: far below 1 it vanishes on the way, far above it explodes.

        None where a gradient is missing or the last is 0.
        """
        first, last = self.norms[0], self.norms[-1]
        return first / last if first is not None and last else None


def layer_gradients(model: nn.Module, *, scale: float = 1.0) -> list[StackGradients]:
    """The gradients of any model after `backward()`, layer by layer, for each place where it repeats a kind of module.

    `scale` is the factor that a gradient scaler multiplied the loss by; the norms are those without it. A cosine near 1
    or -1 is no sign of health by itself: weights of neighbouring layers have no common coordinates.

    Raises `ValueError` for a model in which nothing repeats.
    """
    check_module("model", model)
    check_positive("scale", scale)
    stacks = find_stacks(model)
    if not stacks:
        raise ValueError("model must repeat a kind of module in a container, as layers are; none was found")
    return [_of_stack(stack, scale) for stack in stacks]


def _of_stack(stack: list[Layer], scale: float) -> StackGradients:
    gradients = [[p.grad for p in layer.module.parameters()] for layer in stack]
    norms = [norm(of_layer) for of_layer in gradients]
    return StackGradients(
        paths=tuple(layer.path for layer in stack),
        norms=tuple(None if size is None else size / scale for size in norms),
        cosines=tuple(map(_cosine, gradients, gradients[1:], norms, norms[1:])),
    )


def _cosine(
    one: list[Tensor | None], other: list[Tensor | None], size: float | None, next_size: float | None
) -> float | None:
    shapes = [[None if gradient is None else gradient.shape for gradient in layer] for layer in (one, other)]
    if shapes[0] != shapes[1] or not size or not next_size:
        return None
    pairs = [(a, b) for a, b in zip(one, other, strict=True) if a is not None]
    # Each side is divided first, so that the product of two tiny gradients does not round to 0.
    return sum(((_wide(a) / size) * (_wide(b) / next_size)).sum().item() for a, b in pairs)


def _wide(gradient: Tensor) -> Tensor:
    return (gradient.to_dense() if gradient.is_sparse else gradient).to(widest_dtype(gradient.device))
