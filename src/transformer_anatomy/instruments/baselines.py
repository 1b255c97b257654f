"""What chance alone gives, so that a figure of a matrix never stands alone."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_anatomy.instruments.spectra import product_core
from transformer_anatomy.model.arguments import check_count


class Baseline(NamedTuple):
    """What chance alone gives: `mean` and standard deviation `std` of a figure over random matrices, in float64."""

    mean: Float[Tensor, "..."]
    std: Float[Tensor, "..."]


def random_baseline(
    measure: Callable[[Tensor], Tensor | float], shape: Sequence[int], *, n_samples: int = 20, seed: int = 0
) -> Baseline:
    """`measure` of `n_samples` random matrices: entries drawn from a normal distribution of variance 1, in float32.

    `shape` is `(rows, columns)`, or `(rows, inner, columns)` for products of two such matrices, as `W_Q·W_Kᵀ` of a head
    is: `(d_model, d_head, d_model)`. `measure` then gets the `product_core`, so it must depend on singular values only.

        random_baseline(effective_rank, (384, 384)).mean
        random_baseline(lambda matrix: top_share(matrix, 2), (384, 32, 384))

    Raises `TypeError` or `ValueError` for other shapes and for fewer than 2 samples, which have no spread.
    """
    check_count("n_samples", n_samples, at_least=2)
    check_count("seed", seed)
    if not isinstance(shape, Sequence):
        raise TypeError(f"shape must be (rows, columns) or (rows, inner, columns), got {shape!r}")
    for size in shape:
        check_count("each size in shape", size, at_least=1)
    if len(shape) not in (2, 3):
        raise ValueError(f"shape must be (rows, columns) or (rows, inner, columns), got {tuple(shape)}")
    generator = torch.Generator().manual_seed(seed)
    figures = [measure(_draw(shape, generator)) for _ in range(n_samples)]
    figures = torch.stack([torch.as_tensor(figure, dtype=torch.float64) for figure in figures])
    return Baseline(figures.mean(dim=0), figures.std(dim=0))


def _draw(shape: Sequence[int], generator: torch.Generator) -> Float[Tensor, "rows columns"]:
    options = {"generator": generator, "dtype": torch.float32, "device": "cpu"}
    if len(shape) == 2:
        return torch.randn(*shape, **options)
    rows, inner, columns = shape
    return product_core(torch.randn(rows, inner, **options), torch.randn(columns, inner, **options))
