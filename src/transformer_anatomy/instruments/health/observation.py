"""What can be seen of any model while it computes: outputs, maps of attention, neurons that never fire."""

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from transformer_anatomy.instruments.health.maps import MapFigures, fused_scores, map_figures
from transformer_anatomy.model.tap import Tap

ATEN = torch.ops.aten
SOFTMAX = {ATEN._softmax.default, ATEN._safe_softmax.default}
RELU = {ATEN.relu.default, ATEN.relu_.default}
FUSED = {  # what F.scaled_dot_product_attention runs, by device and dtype
    ATEN._scaled_dot_product_flash_attention_for_cpu.default,
    ATEN._scaled_dot_product_flash_attention.default,
    ATEN._scaled_dot_product_efficient_attention.default,
    ATEN._scaled_dot_product_cudnn_attention.default,
}


@dataclass
class Observation:
    """What one pass showed, by the path of the module that computed it."""

    inputs: dict[str, Tensor] = field(default_factory=dict)
    outputs: dict[str, Tensor] = field(default_factory=dict)
    maps: dict[str, MapFigures] = field(default_factory=dict)
    fired: dict[str, Tensor] = field(default_factory=dict)  # (neuron,): whether a token made it fire
    n_tokens: dict[str, int] = field(default_factory=dict)  # how many tokens those neurons saw
    non_finite: str | None = None  # the first module whose output holds a NaN or an infinity
    non_finite_input: bool = False  # whether its input does, too

    def add_map(self, path: str, figures: MapFigures) -> None:
        self.maps[path] = figures.worse(self.maps[path]) if path in self.maps else figures

    def add_neurons(self, path: str, activations: Tensor) -> None:
        fired = (activations > 0).flatten(end_dim=-2).any(dim=0)
        self.fired[path] = fired | self.fired[path] if path in self.fired else fired
        self.n_tokens[path] = self.n_tokens.get(path, 0) + activations[..., 0].numel()


class Observer(TorchDispatchMode):
    """Watches each operation of PyTorch from `with` on, and which module of `model` asked for it.

    It sees what a model computes, not how it is written: fused attention and functional activations, too. `layers`
    are the paths whose inputs and outputs are kept. What was seen is in `seen`.
    """

    def __init__(self, model: nn.Module, layers: set[str]):
        super().__init__()
        self.model, self.layers = model, layers
        self.seen = Observation()
        self._running = [""]
        self._handles: list[torch.utils.hooks.RemovableHandle] = []

    def __enter__(self) -> "Observer":
        for path, module in self.model.named_modules():
            if isinstance(module, Tap):  # A watched tap of weights would form the whole map.
                if path.endswith("mixed"):
                    self._handles.append(module.register_forward_hook(self._mixed(path.rpartition(".")[0])))
                continue
            self._handles.append(module.register_forward_pre_hook(self._enter(path), with_kwargs=True))
            self._handles.append(module.register_forward_hook(self._leave(path), always_call=True))
        return super().__enter__()

    def __exit__(self, *exception) -> None:
        super().__exit__(*exception)
        for handle in self._handles:
            handle.remove()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        output = operation(*args, **(kwargs or {}))
        if operation in SOFTMAX:
            if output.dim() == 4 or (output.dim() == 3 and self._inside_attention()):
                self.seen.add_map(self._running[-1], map_figures(args[0]))
        elif operation in RELU:
            if output.dim() > 1:
                self.seen.add_neurons(self._running[-1], output)
        elif operation in FUSED:
            names = (argument.name for argument in operation._schema.arguments)
            given = dict(zip(names, args, strict=False)) | (kwargs or {})
            bias = given.get("attn_mask", given.get("attn_bias"))
            scores = fused_scores(given["query"], given["key"], bias, given.get("is_causal", False), given.get("scale"))
            self.seen.add_map(self._running[-1], map_figures(scores))
        return output

    def _inside_attention(self) -> bool:
        return any("att" in type(self.model.get_submodule(path)).__name__.lower() for path in self._running)

    def _mixed(self, path: str):
        """Ours lets a query that may attend to nothing see everything inside the kernel and erases what it read."""

        def look(tap: Tap, inputs: tuple, mixed: Tensor) -> None:
            blind = (mixed == 0).all(dim=-1).flatten(start_dim=1).float().mean(dim=1)
            if blind.numel():
                self.seen.add_map(path, MapFigures(float("nan"), blind.max().item()))

        return look

    def _enter(self, path: str):
        def enter(module: nn.Module, args: tuple, kwargs: dict) -> None:
            self._running.append(path)
            if path in self.layers and (tensor := first_tensor((args, kwargs))) is not None:
                self.seen.inputs.setdefault(path, tensor.detach())

        return enter

    def _leave(self, path: str):
        def leave(module: nn.Module, args: tuple, output: object) -> None:
            self._running.pop()
            tensor = first_tensor(output)
            if tensor is None:
                return
            if path in self.layers:
                self.seen.outputs[path] = tensor.detach()
            if self.seen.non_finite is None and not _finite(tensor):
                self.seen.non_finite, given = path, first_tensor(args)
                self.seen.non_finite_input = given is not None and not _finite(given)

        return leave


def first_tensor(value: object) -> Tensor | None:
    """The first floating-point tensor among a module's inputs or outputs, however nested."""
    if isinstance(value, Tensor):
        return value if value.is_floating_point() else None
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return next((tensor for part in value if (tensor := first_tensor(part)) is not None), None)
    return None


def _finite(tensor: Tensor) -> bool:
    return bool(tensor.detach().isfinite().all())
