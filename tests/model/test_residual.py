import pytest
import torch
from torch import nn

from transformer_anatomy import LayerNorm, TransformerConfig
from transformer_anatomy.model.layer_norm import final_norm
from transformer_anatomy.model.residual import residual_connection

X = torch.tensor([[[1.0, 3.0]]])  # Normalised it is [-1, 1].


def config(**choices):
    return TransformerConfig(vocab_size=5, d_model=2, n_heads=1, **choices)


def nothing(x):
    return torch.zeros_like(x)


def double(x):
    return 2 * x


@pytest.mark.parametrize(
    ("norm", "residual", "branch", "expected"),
    [
        ("post", True, nothing, [-1, 1]),
        ("post", True, double, [-1, 1]),  # x + norm(2x) would be [0, 4]
        ("post", False, nothing, [0, 0]),
        ("post", False, double, [-1, 1]),
        ("pre", True, nothing, [1, 3]),
        ("pre", True, double, [-1, 5]),
        ("pre", False, nothing, [0, 0]),
        ("pre", False, double, [-2, 2]),
        ("none", True, nothing, [1, 3]),
        ("none", True, double, [3, 9]),
        ("none", False, nothing, [0, 0]),
        ("none", False, double, [2, 6]),
    ],
)
def test_the_norm_stands_where_the_configuration_says(norm, residual, branch, expected):
    connection = residual_connection(config(norm=norm, residual=residual))
    assert connection(X, branch)[0, 0].tolist() == pytest.approx(expected, abs=1e-4)


def test_only_with_the_norm_before_the_branches_does_a_stack_end_with_a_norm():
    assert isinstance(final_norm(config(norm="pre")), LayerNorm)
    for norm in ("post", "none"):
        assert torch.equal(final_norm(config(norm=norm))(X), X)


def test_each_norm_is_an_object_of_its_own_with_the_configured_guard():
    pre = config(norm="pre", norm_eps=0.5)
    norms = [residual_connection(pre).norm, residual_connection(pre).norm, final_norm(pre)]
    assert len({id(norm) for norm in norms}) == 3
    assert all(norm.eps == 0.5 for norm in norms)
    assert not list(residual_connection(config(norm="none")).parameters())


@pytest.mark.parametrize("norm", ["post", "pre", "none"])
def test_dropout_falls_on_the_update_and_never_on_the_stream(norm):
    connection = residual_connection(config(norm=norm, dropout=0.5))
    if norm == "post":
        connection.norm = nn.Identity()
    stream = torch.full((1, 4000, 2), 10.0)
    after = connection(stream, torch.ones_like)
    assert after.unique().tolist() == [10.0, 12.0]  # What is kept is divided by 1 - p.
    assert after.mean().item() == pytest.approx(11.0, abs=0.1)
    assert connection.eval()(stream, torch.ones_like).unique().tolist() == [11.0]


@pytest.mark.parametrize("residual", [True, False])
def test_without_the_residual_connection_nothing_of_the_stream_goes_on(residual):
    connection = residual_connection(config(norm="none", residual=residual))
    x = X.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(connection(x, lambda x: 0 * x).sum(), x)
    assert gradient.unique().tolist() == [float(residual)]
