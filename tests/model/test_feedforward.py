import pytest
import torch
import torch.nn.functional as F

from transformer_anatomy import FeedForward, record


def test_it_is_two_linear_maps_with_an_activation_between():
    feedforward = FeedForward(d_model=1, d_feedforward=2)
    with torch.no_grad():
        feedforward.hidden_projection.weight.copy_(torch.tensor([[1.0], [-1.0]]))
        feedforward.hidden_projection.bias.copy_(torch.tensor([0.5, 0.0]))
        feedforward.output_projection.weight.copy_(torch.tensor([[10.0, 100.0]]))
        feedforward.output_projection.bias.fill_(7.0)
    with record(feedforward) as trace:
        update = feedforward(torch.tensor([[[2.0], [-3.0]]]))
    assert trace.names() == ["hidden", "update"]
    assert trace["hidden"].tolist() == [[[2.5, 0.0], [0.0, 3.0]]]
    assert trace["update"].tolist() == update.tolist() == [[[32.0], [307.0]]]


def test_gelu_is_the_exact_one():
    gelu = FeedForward(d_model=1, d_feedforward=1, activation="gelu").activation
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    torch.testing.assert_close(gelu(x), x * (1 + torch.erf(x / 2**0.5)) / 2, atol=1e-12, rtol=0)
    assert (gelu(x) - F.gelu(x, approximate="tanh")).abs().max() > 1e-4


def test_no_token_sees_another():
    feedforward, x = FeedForward(d_model=4, d_feedforward=8), torch.randn(2, 3, 4)
    alone = torch.cat([feedforward(x[:, i : i + 1]) for i in range(3)], dim=1)
    torch.testing.assert_close(alone, feedforward(x))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: FeedForward(d_model=0, d_feedforward=8), ValueError, "d_model must be a whole number .* got 0"),
        (lambda: FeedForward(d_model=4, d_feedforward=-1), ValueError, "d_feedforward must be a whole .* got -1"),
        (
            lambda: FeedForward(d_model=4, d_feedforward=8, activation="tanh"),
            ValueError,
            "activation must be one of 'relu', 'gelu', got 'tanh'",
        ),
        (
            lambda: FeedForward(d_model=4, d_feedforward=8)(torch.zeros(1, 3, 8)),
            ValueError,
            r"x must be \(batch, position, 4\), got \(1, 3, 8\)",
        ),
        (
            lambda: FeedForward(d_model=4, d_feedforward=8)(torch.zeros(1, 3, 4).double()),
            TypeError,
            "x is torch.float64 but this module computes in torch.float32",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
