"""What one pass through a model showed."""

from collections.abc import Callable

from torch import Tensor, nn

from transformer_anatomy.instruments.health.broken import BrokenOutputs
from transformer_anatomy.instruments.health.dependence import Dependence
from transformer_anatomy.instruments.health.flow import Flow
from transformer_anatomy.instruments.health.maps import N_QUERIES, MapFigures, map_figures, some_rows, visible
from transformer_anatomy.instruments.health.place import Place
from transformer_anatomy.instruments.health.thresholds import SATURATED_ENTROPY
from transformer_anatomy.instruments.health.tokens import OnlyToken, TokenIds
from transformer_anatomy.instruments.nested import tensors_of


class Observation:
    """What was seen, by the path of the module that computed it, or of the layer that it belongs to."""

    def __init__(self, model: nn.Module):
        self.flows: dict[str, Flow] = {}  # by layer
        self.maps: dict[str, MapFigures] = {}
        self.sharp: dict[int, tuple[str, Tensor]] = {}  # by address on the way back: where, and who may see whom
        self.only_token: dict[str, OnlyToken] = {}  # where a mask leaves nothing but one token to be seen
        self.fired: dict[tuple[str, str, str], Tensor] = {}  # by `Place.neurons`, (neuron,): did a token make it fire?
        self.n_tokens: dict[tuple[str, str, str], int] = {}  # how many tokens those neurons saw
        self.normed: set[str] = set()  # who ran a norm, by layer or place
        self.broken = BrokenOutputs()
        self.ran: set[str] = set()
        self.dependence = Dependence(model)
        self.value: Tensor | None = None  # the loss
        self.ids = TokenIds()
        self.worth: Callable[[str], float | None] = lambda path: None  # of the choices of a sharp map: see worth.py

    def add_map(self, path: str, scores: Tensor, address: int) -> None:
        """A map of attention with its scores, and the address at which the way back will find it again."""
        if scores.shape[-2] > N_QUERIES:
            scores = scores[..., some_rows(scores.shape[-2]), :]
        figures = map_figures(scores)
        self.keep_map(path, figures)
        if figures.entropy < SATURATED_ENTROPY:
            self.sharp[address] = path, visible(scores)
        if only := self.ids.shown_by(scores):
            self.only_token[path] = only

    def keep_map(self, path: str, figures: MapFigures) -> None:
        """The sharper of this map and what is known of the place."""
        self.maps[path] = figures.worse(self.maps[path]) if path in self.maps else figures

    def add_neurons(self, place: Place, activations: Tensor) -> None:
        """What came out of a ReLU, `(..., neuron)`."""
        key = place.neurons
        fired = (activations.detach().flatten(end_dim=-2) > 0).any(dim=0)
        known = self.fired.get(key)
        self.fired[key] = fired | known if known is not None and known.shape == fired.shape else fired
        self.n_tokens[key] = self.n_tokens.get(key, 0) + activations[..., 0].numel()


def first_tensor(value: object) -> Tensor | None:
    """The first floating-point tensor among a module's inputs or outputs, however nested, without its graph."""
    return next((tensor.detach() for tensor in tensors_of(value) if tensor.is_floating_point()), None)
