"""Which part of a model computes at the moment."""

from torch import nn

from transformer_anatomy.instruments.health.stacks import Layer


class Place:
    """The modules that run, innermost last, and the layer that a computation between modules belongs to."""

    def __init__(self, model: nn.Module, stacks: list[list[Layer]]):
        self.layers = {layer.path for stack in stacks for layer in stack}
        modules = dict(model.named_modules(remove_duplicate=False))
        own = {path: module._parameters.values() for path, module in modules.items()}
        self._maps = {path for path, held in own.items() if any(p is not None and p.dim() > 1 for p in held)}
        self._attending = {path for path, module in modules.items() if is_attention(module)}
        self._running = [""]
        self._before = ""
        self._made_by = ""

    def enter(self, path: str) -> None:
        self._running.append(path)
        if path in self._maps:
            self._made_by = path
        if path in self._maps or path in self.layers:
            self._before = ""  # what follows from here on is no longer what the layer before did

    def leave(self) -> None:
        left = self._running.pop()
        if left in self.layers:
            self._before = left

    @property
    def module(self) -> str:
        """The innermost module that runs."""
        return self._running[-1]

    @property
    def layer(self) -> str:
        """The innermost layer that runs; else the one before, whose activation or norm this is; else the module."""
        inside = next((path for path in reversed(self._running) if path in self.layers), None)
        return inside if inside is not None else self._before or self.module

    @property
    def neurons(self) -> tuple[str, str, str]:
        """What tells neurons apart, of which an activation may serve several: layer, activation, and what made them."""
        return self.layer, self.module, self._made_by

    @property
    def attending(self) -> bool:
        """Whether a module runs that calls itself attention."""
        return any(path in self._attending for path in self._running)


def is_attention(module: nn.Module) -> bool:
    """Whether a module calls itself attention."""
    return "att" in type(module).__name__.lower()
