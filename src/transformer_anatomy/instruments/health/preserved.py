"""Leave a model as it was found."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Afterwards `model` has its weights, gradients, buffers and mode again, and PyTorch its random state.

    Whatever happens inside. Inside, no parameter has a gradient.
    """
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    tensors = [(tensor, tensor._version, tensor.detach().clone()) for tensor in (*model.parameters(), *model.buffers())]
    buffers = [(module, dict(module._buffers)) for module in model.modules()]
    modes = [(module, module.training) for module in model.modules()]
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
    for parameter, _ in gradients:
        parameter.grad = None
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, named in buffers:  # a pass may put a new tensor in the place of a buffer
            module._buffers.clear()
            module._buffers.update(named)
        with torch.no_grad():
            for tensor, version, before in tensors:
                if tensor._version != version:  # a needless copy would spoil graphs that the tensor is part of
                    tensor.copy_(before)
        for module, training in modes:
            module.training = training
