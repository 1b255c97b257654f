"""Leave a model as it was found."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


def repeatable(model: nn.Module, loss: Callable[[nn.Module], Tensor]) -> Callable[[], Tensor]:
    """Computes `loss` once more, with the random numbers that a call now would draw."""
    state, devices = torch.get_rng_state(), _devices(model)
    states = {device: torch.cuda.get_rng_state(device) for device in devices}

    def compute() -> Tensor:
        torch.set_rng_state(state)
        for device, known in states.items():
            torch.cuda.set_rng_state(known, device)
        with torch.enable_grad():
            return loss(model)

    return compute


@contextmanager
def preserved(model: nn.Module) -> Iterator[None]:
    """Afterwards `model` has its weights, gradients, buffers and mode again, and PyTorch its random state.

    Whatever happens inside. There, no parameter has a gradient, and buffers are copies.
    """
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    tensors = [(tensor, tensor.detach().clone()) for tensor in (*model.parameters(), *model.buffers())]
    buffers = [(module, dict(module._buffers)) for module in model.modules()]
    modes = [(module, module.training) for module in model.modules()]
    for parameter, _ in gradients:
        parameter.grad = None
    copies = {id(buffer): buffer.detach().clone() for buffer in model.buffers()}
    for module, named in buffers:
        module._buffers.update({name: copies[id(buffer)] for name, buffer in named.items() if buffer is not None})
    try:
        with torch.random.fork_rng(devices=_devices(model)):
            yield
    finally:
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, named in buffers:
            module._buffers.clear()
            module._buffers.update(named)
        with torch.no_grad():
            for tensor, before in tensors:
                if not torch.equal(tensor, before):  # a needless copy would spoil graphs that the tensor is part of
                    tensor.copy_(before)
        for module, training in modes:
            module.training = training


def _devices(model: nn.Module) -> list[int]:
    return sorted({p.device.index or 0 for p in model.parameters() if p.device.type == "cuda"})
