import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import (
    MultiHeadAttention,
    Tap,
    available_devices,
    blocked_mask,
    causal_mask,
    padding_mask,
    record,
)

DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
both_ways = pytest.mark.parametrize("watch", [True, False], ids=["watched", "fused"])


def attend(attention, *args, watch, **kwargs):
    """Run the module written out, as when somebody looks at the weights, or fused, as when nobody does."""
    if not watch:
        return attention(*args, **kwargs)
    with record(attention, "weights"):
        return attention(*args, **kwargs)


def identity_attention(d_model, n_heads):
    """Attention whose projections pass their input through, so that its heads can be read off by hand."""
    attention = MultiHeadAttention(d_model=d_model, n_heads=n_heads, bias=False)
    for parameter in attention.parameters():
        nn.init.eye_(parameter)
    return attention


def test_the_module_cuts_its_heads_the_same_way():
    attention = identity_attention(4, 2)
    with record(attention) as trace:
        attention(torch.arange(8.0).reshape(1, 2, 4))
    for name in ("queries", "keys", "values"):
        assert trace[name][0, 0].tolist() == [[0, 1], [4, 5]]


@both_ways
def test_heads_are_independent(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2, bias=False)
    nn.init.eye_(attention.output_projection.weight)
    x = torch.randn(1, 3, 4)
    before = attend(attention, x, watch=watch)
    with torch.no_grad():
        attention.value_projection.weight[2:] = 0
    after = attend(attention, x, watch=watch)
    assert torch.equal(after[..., :2], before[..., :2])
    assert after[..., 2:].abs().max() == 0 and before[..., 2:].abs().max() > 0


def test_every_head_keeps_its_own_map():
    attention = identity_attention(2, 2)
    memory = torch.tensor([[[1.0, -1.0], [-1.0, 1.0]]])  # Two tokens; the heads have one feature each.
    with record(attention) as trace:
        attention(torch.full((1, 1, 2), 200.0), memory)
    assert trace["weights"][0, :, 0].tolist() == [[1, 0], [0, 1]]


def test_it_agrees_with_torch():
    ours = MultiHeadAttention(d_model=12, n_heads=3)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True)
    with torch.no_grad():
        projections = (ours.query_projection, ours.key_projection, ours.value_projection)
        theirs.in_proj_weight.copy_(torch.cat([p.weight for p in projections]))
        theirs.in_proj_bias.copy_(torch.cat([p.bias for p in projections]))
        theirs.out_proj.load_state_dict(ours.output_projection.state_dict())
    x, memory, lengths = torch.randn(2, 3, 12), torch.randn(2, 5, 12), [5, 2]
    mask = padding_mask(lengths, 5)
    with record(ours) as trace:
        update = ours(x, memory, mask)
    expected, weights = theirs(
        x, memory, memory, key_padding_mask=blocked_mask(mask)[:, 0, 0], average_attn_weights=False
    )
    torch.testing.assert_close(update, expected)
    torch.testing.assert_close(trace["weights"], weights)
    causal, _ = theirs(x, x, x, attn_mask=blocked_mask(causal_mask(3)))
    torch.testing.assert_close(ours(x, mask=causal_mask(3)), causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask_kind", ["none", "causal", "padding", "some rows empty", "keys"])
def test_looking_changes_nothing_but_the_last_rounding(dtype, mask_kind):
    mask = {
        "none": None,
        "causal": causal_mask(4),
        "padding": padding_mask([4, 0], 4),
        "some rows empty": torch.rand(2, 3, 4, 4) < 0.3,
        "keys": torch.tensor([True, False, True, True]),
    }[mask_kind]
    attention = MultiHeadAttention(d_model=12, n_heads=3).to(dtype)
    x = torch.randn(2, 4, 12, dtype=dtype, requires_grad=True)
    results = []
    for watch in (True, False):
        update = attend(attention, x, mask=mask, watch=watch)
        gradients = torch.autograd.grad(update.square().sum(), [x, *attention.parameters()])
        results.append([update, *gradients])
    tolerance = {torch.float64: 1e-12, torch.float32: 2e-6}.get(dtype, 3e-2)
    for watched, fused in zip(*results, strict=True):
        assert watched.isfinite().all()
        torch.testing.assert_close(watched, fused, atol=tolerance, rtol=tolerance)


@both_ways
def test_the_future_does_not_reach_the_past(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2).double()
    x = torch.randn(1, 4, 4, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: attend(attention, x, mask=causal_mask(4), watch=watch), x)
    reaches = jacobian[0, :, :, 0].abs().amax(dim=(1, 3)) > 1e-6
    assert torch.equal(reaches, torch.ones(4, 4).tril().bool())


@both_ways
def test_a_sample_does_not_feel_its_neighbours_in_the_batch(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2)
    x, lengths = torch.randn(2, 3, 4), [3, 1]
    together = attend(attention, x, mask=padding_mask(lengths, 3), watch=watch)
    for i, n in enumerate(lengths):
        alone = attend(attention, x[i : i + 1, :n], watch=watch)
        torch.testing.assert_close(together[i : i + 1, :n], alone, atol=1e-6, rtol=0)


@both_ways
def test_an_empty_sample_leaves_the_gradients_of_the_others_alone(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2)
    x = torch.randn(2, 3, 4)
    with torch.autograd.set_detect_anomaly(True):
        update = attend(attention, x, mask=padding_mask([3, 0], 3), watch=watch)
        together = torch.autograd.grad(update[0].sum(), list(attention.parameters()))
    alone = torch.autograd.grad(attend(attention, x[:1], watch=watch).sum(), list(attention.parameters()))
    torch.testing.assert_close(update[1], attention.output_projection.bias.expand(3, 4))
    for a, b in zip(together, alone, strict=True):
        torch.testing.assert_close(a, b)


def test_it_reads_keys_and_values_from_memory():
    attention = MultiHeadAttention(d_model=4, n_heads=2)
    x, memory = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    with record(attention) as trace:
        assert attention(x, memory).shape == (2, 3, 4)
    assert trace["weights"].shape == (2, 2, 3, 5)
    assert trace["queries"].shape == (2, 2, 3, 2) and trace["values"].shape == (2, 2, 5, 2)
    torch.testing.assert_close(attention(x, x), attention(x))


@both_ways
def test_memory_may_be_empty(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2)
    update = attend(attention, torch.randn(1, 3, 4), torch.randn(1, 0, 4), watch=watch)
    torch.testing.assert_close(update[0], attention.output_projection.bias.expand(3, 4))


def test_dropout_acts_in_training_only():
    attention = MultiHeadAttention(d_model=4, n_heads=2, dropout=0.5)
    plain = MultiHeadAttention(d_model=4, n_heads=2)
    plain.load_state_dict(attention.state_dict())
    x = torch.randn(1, 6, 4)
    for watch in (True, False):
        assert not torch.equal(attend(attention, x, watch=watch), attend(attention, x, watch=watch))
    attention.eval()
    for watch in (True, False):
        first = attend(attention, x, watch=watch)
        assert torch.equal(first, attend(attention, x, watch=watch))
        assert torch.equal(first, attend(plain, x, watch=watch))


def test_recorded_weights_are_those_before_dropout():
    attention = MultiHeadAttention(d_model=2, n_heads=1, dropout=0.2).train()
    for _ in range(20):
        with record(attention) as trace:
            attention(torch.randn(4, 1, 2))
        assert trace["weights"].tolist() == [[[[1.0]]]] * 4


def test_dropout_keeps_the_mean_of_what_is_read():
    attention = identity_attention(1, 1).train()
    attention.dropout = 0.25
    for watch in (True, False):
        update = attend(attention, torch.ones(1, 4000, 1), torch.ones(1, 1, 1), watch=watch)
        assert update.unique().tolist() == pytest.approx([0, 1 / 0.75])
        assert update.mean().item() == pytest.approx(1.0, abs=0.05)


def test_nobody_looking_costs_nothing(monkeypatch):
    calls = []
    fused = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k))
    attention, x = MultiHeadAttention(d_model=4, n_heads=2), torch.randn(1, 3, 4)
    attention(x)
    assert len(calls) == 1
    for name in ("queries", "keys", "values", "mixed", "update"):
        with record(attention, name):
            attention(x)
    assert len(calls) == 6
    for name in ("scores", "weights"):
        with record(attention, name):
            attention(x)
    assert len(calls) == 6


def test_every_tensor_follows_the_module():
    for module, device, dtype in (
        (MultiHeadAttention(d_model=4, n_heads=2).to("meta"), "meta", torch.float32),
        (MultiHeadAttention(d_model=4, n_heads=2).double(), "cpu", torch.float64),
    ):
        tensors = [t for m in module.modules() for t in vars(m).values() if isinstance(t, torch.Tensor)]
        for tensor in [*tensors, *module.parameters(), *module.buffers()]:
            assert (tensor.device.type, tensor.dtype) == (device, dtype)


@both_ways
def test_gradients_are_right(watch):
    attention = MultiHeadAttention(d_model=4, n_heads=2).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = causal_mask(3) & padding_mask([3, 0], 3)
    assert torch.autograd.gradcheck(lambda x: attend(attention, x, mask=mask, watch=watch), x, atol=1e-6)


@both_ways
def test_it_works_under_autocast(watch):
    attention = MultiHeadAttention(d_model=16, n_heads=2)
    x, mask = torch.randn(2, 5, 16), causal_mask(5) & padding_mask([5, 0], 5)
    expected = attention(x, mask=mask)
    with torch.autocast("cpu", torch.bfloat16):
        update = attend(attention, x, mask=mask, watch=watch)
        again = attend(attention, x.bfloat16(), mask=mask, watch=watch)
    assert update.dtype == again.dtype == torch.bfloat16
    torch.testing.assert_close(update.float(), expected, atol=0.02, rtol=0.02)
    torch.testing.assert_close(again.float(), expected, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("device", available_devices())
@both_ways
def test_a_mask_that_broadcasts_is_right_on_every_device(watch, device):
    attention = MultiHeadAttention(d_model=16, n_heads=2).double()
    x, mask = torch.randn(2, 5, 16, dtype=torch.float64), causal_mask(5) & padding_mask([5, 3], 5)
    expected = attend(attention, x, mask=mask, watch=True)
    update = attend(attention.float().to(device), x.float().to(device), mask=mask.to(device), watch=watch)
    torch.testing.assert_close(update.cpu().double(), expected, atol=1e-4, rtol=0)


def test_every_named_place_is_a_tap():
    taps = [name for name, module in MultiHeadAttention(d_model=4, n_heads=2).named_modules() if type(module) is Tap]
    assert taps == ["queries", "keys", "values", "scores", "weights", "mixed", "update"]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 10, "n_heads": 3}, "n_heads must divide d_model, got n_heads = 3 and d_model = 10"),
        ({"d_model": 0, "n_heads": 1}, "d_model must be a whole number of at least 1, got 0"),
        ({"d_model": -4, "n_heads": 2}, "d_model must be a whole number of at least 1, got -4"),
        ({"d_model": 4, "n_heads": 0}, "n_heads must be a whole number of at least 1, got 0"),
        ({"d_model": 4, "n_heads": -2}, "n_heads must be a whole number of at least 1, got -2"),
        ({"d_model": 4.0, "n_heads": 2}, "d_model must be a whole number of at least 1, got 4.0"),
        ({"d_model": 4, "n_heads": 2, "dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"d_model": 4, "n_heads": 2, "dropout": -0.1}, "dropout must be at least 0 and below 1, got -0.1"),
        ({"d_model": 4, "n_heads": 2, "dropout": math.nan}, "dropout must be at least 0 and below 1, got nan"),
    ],
)
def test_bad_sizes_are_refused(unchecked, sizes, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**sizes)


X = torch.zeros(2, 3, 4)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({"x": X[0]}, ValueError, r"x must be \(batch, position, 4\), got \(3, 4\)"),
        ({"x": torch.zeros(2, 3, 5)}, ValueError, r"x must be .*got \(2, 3, 5\)"),
        ({"x": X.double()}, TypeError, "x is torch.float64 but this module computes in torch.float32"),
        ({"x": X.long()}, TypeError, "x is torch.int64 but this module computes in torch.float32"),
        ({"x": X.tolist()}, TypeError, "x must be a tensor, got list"),
        ({"x": X, "memory": X.half()}, TypeError, "memory is torch.float16 but this module computes in torch.float32"),
        ({"x": X, "memory": X[:1]}, ValueError, "memory must have the batch size of x, 2, got 1"),
        ({"x": X, "memory": X[..., :2]}, ValueError, r"memory must be .*got \(2, 3, 2\)"),
        ({"x": X, "mask": torch.ones(3, 3)}, TypeError, "mask must be boolean.*torch.float32"),
        ({"x": X, "mask": [True]}, TypeError, "mask must be a boolean tensor.*list"),
        (
            {"x": X, "mask": causal_mask(4)},
            ValueError,
            r"\(4, 4\) does not broadcast to scores of shape \(2, 2, 3, 3\)",
        ),
        ({"x": X, "mask": causal_mask(3).expand(2, 3, 3)}, ValueError, r"\(2, 3, 3\) could mean samples or heads"),
    ],
)
def test_bad_input_is_refused_at_the_edge(unchecked, inputs, error, message):
    attention = MultiHeadAttention(d_model=4, n_heads=2)
    with pytest.raises(error, match=message):
        attention(**inputs)


def test_autocast_does_not_excuse_float64(unchecked):
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(TypeError, match=r"x is torch\.float64"):
        MultiHeadAttention(d_model=4, n_heads=2)(X.double())
