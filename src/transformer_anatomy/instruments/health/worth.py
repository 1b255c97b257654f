"""Whether sharp attention works: would the loss rise or fall if it moved away from the keys that it has chosen?"""

from collections import defaultdict

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_anatomy.instruments.health import operations as ops
from transformer_anatomy.instruments.health.maps import fused_scores, some_rows


class Worth(TorchDispatchMode):
    """Watches the pass backward through the maps that were sharp on the way forward.

    With weights A and their gradient g, a query that moves a little from its choice towards all keys alike changes the
    loss in proportion to Σ (1/n − A) g. Where attention has been learned most of them lose by that; where the choice
    means nothing, as many gain.
    """

    def __init__(self, sharp: dict[int, tuple[str, Tensor]]):
        """`sharp` holds, by the address of the weights or the queries, where they are and which keys may be seen."""
        super().__init__()
        self._sharp = sharp
        self._losses: dict[str, list[Tensor]] = defaultdict(list)

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        backward = operation in ops.SOFTMAX_BACKWARD or operation in ops.FUSED_BACKWARD
        if backward and (known := self._sharp.get(args[1].data_ptr())) is not None:
            place, visible = known
            rows = some_rows(args[0].shape[-2]).to(args[0].device)
            if operation in ops.SOFTMAX_BACKWARD:
                gradient, weights = (tensor[..., rows, :].float() for tensor in args[:2])
            else:
                arriving, _, _, values = (tensor.float() for tensor in args[:4])
                scores = fused_scores(ops.arguments(operation, args, kwargs))
                weights = scores.softmax(dim=-1)
                values = values.repeat_interleave(arriving.shape[1] // values.shape[1], dim=1)
                gradient = arriving[..., rows, :] @ values.transpose(-2, -1)
            self._losses[place].append(_losses(weights, gradient, visible))
        return operation(*args, **kwargs)

    def of(self, place: str) -> float | None:
        """What the choices at `place` are worth: 1 if every query loses by moving away, 0 if as many gain.

        Queries count by the root of what they lose or gain: neither the few that err nor the many that do not matter
        decide alone. None where no gradient arrived.
        """
        losses = torch.cat(self._losses[place]) if place in self._losses else torch.zeros(1)
        sizes = losses.abs().sqrt()
        return (losses.sign() * sizes).sum().item() / sizes.sum().item() if losses.any() else None


def _losses(weights: Tensor, gradient: Tensor, visible: Tensor) -> Tensor:
    """What each query that has a choice loses, to first order, when it moves from its choice to all keys alike."""
    n = visible.sum(dim=-1)
    alike = (gradient * visible).sum(dim=-1) / n.clamp(min=1)
    return (alike - (weights * gradient).sum(dim=-1))[n > 1]
