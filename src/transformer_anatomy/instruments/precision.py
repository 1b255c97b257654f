"""The precision that figures are computed in."""

import torch
from torch import Tensor


def at_least_single(x: Tensor) -> Tensor:
    """`x` as float32 if it comes in half precision or in whole numbers, otherwise as it is.

    Half precision has room for a model, not for sums over it: bfloat16 keeps 8 bits, float16 ends at 65504.
    """
    return x.to(torch.promote_types(x.dtype, torch.float32))
