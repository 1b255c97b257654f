import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import LayerNorm, normalize, record

both_ways = pytest.mark.parametrize("watch", [True, False], ids=["watched", "fused"])


def apply(norm, x, *, watch):
    """Run the norm written out, as when somebody looks at it, or fused, as when nobody does."""
    if not watch:
        return norm(x)
    with record(norm):
        return norm(x)


def random_norm(d_model, **options):
    norm = LayerNorm(d_model, **options)
    for parameter in norm.parameters():
        nn.init.normal_(parameter)
    return norm


def test_a_token_is_centred_and_scaled_by_the_root_of_its_mean_square():
    torch.testing.assert_close(normalize(torch.tensor([[1.0, 3.0]])), torch.tensor([[-1.0, 1.0]]))
    torch.testing.assert_close(
        normalize(torch.tensor([0.0, 3.0, 6.0])), torch.tensor([-1.0, 0.0, 1.0]) * math.sqrt(3 / 2)
    )


@both_ways
def test_the_guard_against_zero_variance_stands_inside_the_root(watch):
    x = torch.tensor([[-1e-3, 1e-3]])  # The variance is 1e-6.
    torch.testing.assert_close(apply(LayerNorm(2, eps=3e-6), x, watch=watch), torch.tensor([[-0.5, 0.5]]))


@both_ways
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
@pytest.mark.parametrize("d_model", [1, 2, 7, 64])
@pytest.mark.parametrize("kind", ["random", "far from zero", "constant rows"])
def test_it_equals_torch_s_in_value_and_gradient(watch, dtype, tolerance, d_model, kind):
    ours = random_norm(d_model).to(dtype)
    theirs = nn.LayerNorm(d_model, dtype=dtype)
    theirs.load_state_dict(ours.state_dict())
    x = {
        "random": torch.randn(2, 3, d_model, dtype=dtype),
        "far from zero": torch.randn(2, 3, d_model, dtype=dtype) + 10,
        "constant rows": torch.randn(2, 3, 1, dtype=dtype).expand(2, 3, d_model).contiguous(),
    }[kind].requires_grad_()
    upstream = torch.randn(2, 3, d_model, dtype=dtype)
    results = []
    for output, norm in ((apply(ours, x, watch=watch), ours), (theirs(x), theirs)):
        results.append([output, *torch.autograd.grad(output, [x, *norm.parameters()], upstream)])
    # What rounding leaves is multiplied like all else: by 316 where a row is constant.
    largest_factor = (x.var(dim=-1, correction=0) + ours.eps).rsqrt().max().item()
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, atol=tolerance * max(1.0, largest_factor), rtol=tolerance)


@both_ways
def test_gradients_are_right(watch):
    norm, x = random_norm(4).double(), torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    parameters = list(norm.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: apply(norm, x, watch=watch), (x, *parameters), atol=1e-6)


@both_ways
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_does_not_overflow_on_the_way(watch, dtype):
    x = (torch.randn(5, 16) * 1000).to(dtype)  # A square of 1e6 is more than float16 can hold.
    norm = random_norm(16).to(dtype)
    output = apply(norm, x, watch=watch)
    assert output.dtype == dtype
    torch.testing.assert_close(output.float(), norm.float()(x.float()), atol=0.02, rtol=0.02)


@both_ways
def test_under_autocast_it_returns_what_it_was_given(watch):
    norm = random_norm(8)
    with torch.autocast("cpu", torch.bfloat16):
        for dtype in (torch.float32, torch.bfloat16):
            x = torch.randn(2, 3, 8, dtype=dtype)
            output = apply(norm, x, watch=watch)
            assert output.dtype == dtype
            torch.testing.assert_close(
                output.float(), F.layer_norm(x.float(), (8,), norm.weight, norm.bias), atol=0.03, rtol=0.02
            )


@both_ways
def test_each_token_is_normalised_alone_in_any_arrangement(watch):
    norm, x = random_norm(8), torch.randn(2, 3, 4, 8)
    output = apply(norm, x, watch=watch)
    torch.testing.assert_close(apply(norm, x[1, 2, 3], watch=watch), output[1, 2, 3])
    assert apply(norm, x[:0], watch=watch).shape == (0, 3, 4, 8)


def test_at_first_it_only_normalises():
    norm, x = LayerNorm(8), torch.randn(2, 3, 8)
    with record(norm) as trace:
        assert torch.equal(norm(x), trace["normalized"])
    torch.testing.assert_close(norm(x), normalize(x))
    assert list(norm.state_dict()) == ["weight", "bias"]


def test_what_is_recorded_is_the_token_before_gain_and_offset():
    norm, x = random_norm(8), torch.randn(2, 3, 8)
    with record(norm) as trace:
        output = norm(x)
    assert torch.equal(trace["normalized"], normalize(x))
    torch.testing.assert_close(output, trace["normalized"] * norm.weight + norm.bias)


def test_nobody_looking_costs_nothing(monkeypatch):
    calls = []
    fused = F.layer_norm
    monkeypatch.setattr(F, "layer_norm", lambda *a, **k: calls.append(1) or fused(*a, **k))
    norm, x = LayerNorm(4), torch.randn(3, 4)
    norm(x)
    assert len(calls) == 1
    with record(norm):
        norm(x)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LayerNorm(0), ValueError, "d_model must be a whole number of at least 1, got 0"),
        (lambda: LayerNorm(-4), ValueError, "d_model must be a whole number of at least 1, got -4"),
        (lambda: LayerNorm(4, eps=0.0), ValueError, "eps must be a finite number above 0, got 0.0"),
        (lambda: LayerNorm(4)(torch.zeros(2, 1)), ValueError, r"x must be \(..., 4\), got \(2, 1\)"),
        (lambda: LayerNorm(4)(torch.tensor(1.0)), ValueError, r"x must be \(..., 4\), got \(\)"),
        (lambda: LayerNorm(4)(torch.zeros(2, 4).double()), TypeError, "x is torch.float64 but .* torch.float32"),
        (lambda: LayerNorm(4)(torch.zeros(2, 4).bfloat16()), TypeError, "x is torch.bfloat16 but .* torch.float32"),
        (lambda: LayerNorm(4)([0.0] * 4), TypeError, "x must be a tensor, got list"),
    ],
)
def test_what_cannot_be_normalised_is_refused_by_name(unchecked, make, error, message):
    with pytest.raises(error, match=message):
        make()
