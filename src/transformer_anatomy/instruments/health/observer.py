"""Watch any model while it computes."""

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from transformer_anatomy.instruments.health import operations as ops
from transformer_anatomy.instruments.health.flow import Flow, similarity
from transformer_anatomy.instruments.health.maps import MapFigures, fused_scores
from transformer_anatomy.instruments.health.observation import Observation, first_tensor
from transformer_anatomy.instruments.health.place import Place
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.instruments.health.written_norm import WrittenNorms
from transformer_anatomy.instruments.nested import tensors_of
from transformer_anatomy.model.tap import Tap


class Observer(TorchDispatchMode):
    """Watches each operation of PyTorch from `with` on, and which module of `model` asked for it.

    It sees what a model computes, not how it is written: fused attention and functional activations, too. The stream is
    measured where the layers of `stacks` begin and end, in their first pass. What was seen is in `seen`.
    """

    def __init__(self, model: nn.Module, stacks: list[list[Layer]]):
        super().__init__()
        self.model = model
        self.place = Place(model, stacks)
        self.entrances = {stack[0].path for stack in stacks}
        self.batch_first = all(getattr(module, "batch_first", True) for module in model.modules())
        self.seen = Observation(model)
        self._norms = WrittenNorms()
        self._channels = -1  # the axis of the features that the last product or convolution made
        self._handles: list[torch.utils.hooks.RemovableHandle] = []
        self._checked: Tensor | None = None

    def __enter__(self) -> "Observer":
        for path, module in self.model.named_modules():
            if not isinstance(module, Tap):  # A watched tap of weights would form the whole map.
                self._handles += [
                    module.register_forward_pre_hook(partial(self._enter, path), with_kwargs=True),
                    module.register_forward_hook(partial(self._leave, path), with_kwargs=True, always_call=True),
                ]
            elif path.endswith("mixed"):
                self._handles.append(module.register_forward_hook(partial(self._mixed, path.rpartition(".")[0])))
        return super().__enter__()

    def __exit__(self, *exception) -> None:
        super().__exit__(*exception)
        for handle in self._handles:
            handle.remove()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        output = operation(*args, **kwargs)
        self.seen.dependence.note(args, kwargs, output)
        if (look := LOOKS.get(operation)) is not None:
            look(self, operation, args, kwargs, output)
        return output

    def _softmax(self, operation, args: tuple, kwargs: dict, output: Tensor) -> None:
        if args[1] in (-1, output.dim() - 1) and (output.dim() == 4 or (output.dim() == 3 and self.place.attending)):
            self.seen.add_map(self.place.module, args[0], output.data_ptr())

    def _fused(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        given = ops.arguments(operation, args, kwargs)
        self.seen.add_map(self.place.module, fused_scores(given), given["query"].data_ptr())

    def _embedding(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        self.seen.ids.add(args[1])

    def _product(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        self._channels = -1

    def _convolution(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        self._channels = 1

    def _relu(self, operation, args: tuple, kwargs: dict, output: Tensor) -> None:
        if output.dim() > 1 and output.numel():
            axis = self._channels if output.dim() > 2 else -1
            self.seen.add_neurons(self.place, output.movedim(axis, -1))

    def _norm(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        self.seen.normed.add(self.place.layer)

    def _written(self, operation, args: tuple, kwargs: dict, output: object) -> None:
        normalized = self._norms.normalizes(operation, args, output)
        if normalized is not None:
            flow = self.seen.flows.get(self.place.layer)
            # What splits the features of a stream among heads is a norm of queries or keys.
            if flow is None or flow.shape_in is None or normalized.dim() <= len(flow.shape_in):
                self.seen.normed.add(self.place.layer)

    def _is_checked(self, tensor: Tensor) -> bool:
        """Whether it is what the last module returned, as a container's output is that of its last layer."""
        last, self._checked = self._checked, tensor  # kept alive, so that nothing else stands at its address
        same = last is not None and (last.data_ptr(), last.shape) == (tensor.data_ptr(), tensor.shape)
        tracked = not tensor.is_inference()  # in inference mode there are no versions
        return same and tracked and last._version == tensor._version

    def _alike(self, layer: nn.Module):
        return partial(similarity, layer=layer, batch_first=self.batch_first)

    def _mixed(self, path: str, tap: Tap, inputs: tuple, mixed: Tensor) -> None:
        """Ours lets a query that may attend to nothing see everything inside the kernel and erases what it read."""
        with _disable_current_modes():
            blind = (mixed.detach() == 0).all(dim=-1).flatten(start_dim=1).float().mean(dim=1)
            if blind.numel():
                self.seen.keep_map(path, MapFigures(math.nan, math.nan, blind.max().item()))

    def _enter(self, path: str, module: nn.Module, args: tuple, kwargs: dict) -> None:
        self.place.enter(path)
        self.seen.ran.add(path)
        if path in self.place.layers and path not in self.seen.flows:
            with _disable_current_modes():  # what is measured here is no part of the model
                alike = self._alike(module) if path in self.entrances else None
                self.seen.flows[path] = Flow.entering(first_tensor((args, kwargs)), alike)

    def _leave(self, path: str, module: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
        self.place.leave()
        with _disable_current_modes():
            if path in self.place.layers:
                self.seen.flows[path].leave(first_tensor(output), self._alike(module))
            first = next(tensors_of(output), None)
            if first is None or not self._is_checked(first):
                self.seen.broken.look(path, (args, kwargs), output)


LOOKS = {
    **dict.fromkeys(ops.SOFTMAX, Observer._softmax),
    **dict.fromkeys(ops.FUSED_ATTENTION, Observer._fused),
    **dict.fromkeys(ops.EMBEDDING, Observer._embedding),
    **dict.fromkeys(ops.PRODUCT, Observer._product),
    **dict.fromkeys(ops.CONVOLUTION, Observer._convolution),
    **dict.fromkeys(ops.RELU, Observer._relu),
    **dict.fromkeys(ops.NORM, Observer._norm),
    **dict.fromkeys(ops.WRITTEN_NORM, Observer._written),
}
