"""Watch any model while it computes."""

import math
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from transformer_anatomy.instruments.health import operations as ops
from transformer_anatomy.instruments.health.flow import Flow, similarity
from transformer_anatomy.instruments.health.maps import MapFigures, fused_scores, map_figures
from transformer_anatomy.instruments.health.observation import Observation, first_tensor, what_is_wrong
from transformer_anatomy.instruments.health.stacks import Layer
from transformer_anatomy.model.tap import Tap


class Observer(TorchDispatchMode):
    """Watches each operation of PyTorch from `with` on, and which module of `model` asked for it.

    It sees what a model computes, not how it is written: fused attention and functional activations, too. The stream is
    measured where the layers of `stacks` begin and end, in their first pass. What was seen is in `seen`.
    """

    def __init__(self, model: nn.Module, stacks: list[list[Layer]]):
        super().__init__()
        self.model = model
        self.layers = {layer.path for stack in stacks for layer in stack}
        self.entrances = {stack[0].path for stack in stacks}
        self.batch_first = all(getattr(module, "batch_first", True) for module in model.modules())
        self.seen = Observation()
        self._running = [""]
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
        output = operation(*args, **(kwargs or {}))
        place = self._running[-1]
        if operation in ops.SOFTMAX:
            if args[1] in (-1, output.dim() - 1) and (output.dim() == 4 or (output.dim() == 3 and self._attending())):
                self.seen.add_map(place, map_figures(args[0]))
        elif operation in ops.RELU:
            if output.dim() > 1 and output.numel():
                self.seen.add_neurons(place, output)
        elif operation in ops.FUSED_ATTENTION:
            given = ops.arguments(operation, args, kwargs or {})
            bias = given.get("attn_mask", given.get("attn_bias"))
            scores = fused_scores(given["query"], given["key"], bias, given.get("is_causal", False), given.get("scale"))
            self.seen.add_map(place, map_figures(scores))
        elif operation in ops.NORM:
            self.seen.normed.add(place)
        return output

    def _is_checked(self, tensor: Tensor) -> bool:
        """Whether it is what the last module returned, as a container's output is that of its last layer."""
        last, self._checked = self._checked, tensor  # kept alive, so that nothing else stands at its address
        same = last is not None and (last.data_ptr(), last.shape) == (tensor.data_ptr(), tensor.shape)
        tracked = not tensor.is_inference()  # in inference mode there are no versions
        return same and tracked and last._version == tensor._version

    def _alike(self, layer: nn.Module):
        return partial(similarity, layer=layer, batch_first=self.batch_first)

    def _attending(self) -> bool:
        return any("att" in type(self.model.get_submodule(path)).__name__.lower() for path in self._running)

    def _mixed(self, path: str, tap: Tap, inputs: tuple, mixed: Tensor) -> None:
        """Ours lets a query that may attend to nothing see everything inside the kernel and erases what it read."""
        with _disable_current_modes():
            blind = (mixed.detach() == 0).all(dim=-1).flatten(start_dim=1).float().mean(dim=1)
            if blind.numel():
                self.seen.add_map(path, MapFigures(math.nan, math.nan, blind.max().item()))

    def _enter(self, path: str, module: nn.Module, args: tuple, kwargs: dict) -> None:
        self._running.append(path)
        if path in self.layers and path not in self.seen.flows:
            with _disable_current_modes():  # what is measured here is no part of the model
                alike = self._alike(module) if path in self.entrances else None
                self.seen.flows[path] = Flow.entering(first_tensor((args, kwargs)), alike)

    def _leave(self, path: str, module: nn.Module, args: tuple, kwargs: dict, output: object) -> None:
        self._running.pop()
        with _disable_current_modes():
            stream = first_tensor(output)
            if path in self.layers:
                self.seen.flows[path].leave(stream, self._alike(module))
            if stream is not None and not self._is_checked(stream) and (wrong := what_is_wrong(stream)):
                self.seen.add_non_finite(path, wrong, first_tensor((args, kwargs)))
