"""The feed-forward branch: the same two-layer network at every position (Vaswani et al. 2017, section 3.3)."""

from torch import nn

from transformer_anatomy.model.arguments import check_choice, check_size, check_stream
from transformer_anatomy.model.tap import Tap
from transformer_anatomy.shapes import Stream

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU}


class FeedForward(nn.Module):
    """`output_projection(activation(hidden_projection(x)))`; no token sees another.

    Taps: `hidden` (the neurons after their activation), `update` (the output).
    """

    def __init__(self, *, d_model: int, d_feedforward: int, activation: str = "relu"):
        super().__init__()
        check_size("d_model", d_model)
        check_size("d_feedforward", d_feedforward)
        check_choice("activation", activation, ACTIVATIONS)
        self.hidden_projection = nn.Linear(d_model, d_feedforward)
        self.activation = ACTIVATIONS[activation]()
        self.output_projection = nn.Linear(d_feedforward, d_model)
        self.hidden, self.update = Tap(), Tap()

    def forward(self, x: Stream) -> Stream:
        """The update, `(batch, position, d_model)`."""
        check_stream("x", x, self.hidden_projection.in_features, self.hidden_projection.weight.dtype)
        hidden = self.hidden(self.activation(self.hidden_projection(x)))
        return self.update(self.output_projection(hidden))
