"""Named places where the inside of a model can be read."""

import torch
from torch import nn


class Tap(nn.Identity):
    """A named place in a model. It passes its tensor on unchanged; a forward hook on it sees that tensor, except in
    compiled code.

    Its name is its path in the model, such as `layers.0.self_attention.weights`; `record` finds it by that name.
    """

    @property
    def watched(self) -> bool:
        """Whether somebody has hooked this tap, so that a module may skip computing what nobody reads.

        Never true while `torch.compile` traces the model: hooks come and go, compiled code stays.
        """
        hooks = self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks
        return bool(hooks) and not torch.compiler.is_compiling()
