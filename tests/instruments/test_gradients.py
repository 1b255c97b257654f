import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import Encoder, LayerNorm, TransformerConfig, gradient_norms, mean_pool, normalize, total_norm


class Parameters(nn.Module):
    """A parameter for each gradient; None gives a parameter without one."""

    def __init__(self, **gradients):
        super().__init__()
        for name, gradient in gradients.items():
            parameter = nn.Parameter(torch.zeros(2) if gradient is None else torch.zeros_like(gradient))
            parameter.grad = gradient
            self.register_parameter(name, parameter)


def test_each_parameter_is_named_with_the_norm_of_its_gradient():
    encoder = Encoder(TransformerConfig(vocab_size=7, d_model=8, n_heads=2, n_layers=2, d_feedforward=16))
    encoder(torch.tensor([[1, 2, 3]])).square().sum().backward()
    norms = gradient_norms(encoder)
    assert list(norms) == [name for name, _ in encoder.named_parameters()]
    for name, parameter in encoder.named_parameters():
        assert norms[name] == pytest.approx(parameter.grad.norm().item(), rel=1e-6)
    everything = torch.cat([parameter.grad.flatten() for parameter in encoder.parameters()])
    assert total_norm(norms) == pytest.approx(everything.norm().item(), rel=1e-6)


@pytest.mark.parametrize(("order", "expected"), [(1, 19.0), (2, 13.0), (math.inf, 12.0)])
def test_the_total_is_the_norm_of_all_gradients_together(order, expected):
    model = Parameters(a=torch.tensor([3.0, -4.0]), b=torch.tensor([[-12.0]]))
    assert total_norm(gradient_norms(model, order=order), order=order) == pytest.approx(expected)


def test_a_parameter_without_a_gradient_is_not_one_with_a_gradient_of_zero():
    model = Parameters(used=torch.tensor([3.0, 4.0]), unused=None, flat=torch.zeros(3))
    norms = gradient_norms(model)
    assert norms == {"used": 5.0, "unused": None, "flat": 0.0}
    assert total_norm(norms) == 5.0


def test_where_no_gradient_arrived_at_all_there_is_no_total():
    assert total_norm(gradient_norms(nn.Linear(2, 2))) is None
    assert total_norm(gradient_norms(nn.Identity())) is None
    assert total_norm(gradient_norms(Parameters(flat=torch.zeros(3)))) == 0.0


@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_a_gradient_of_zero_or_without_entries_has_norm_zero(order):
    norms = gradient_norms(Parameters(flat=torch.zeros(3), empty=torch.zeros(0, 4)), order=order)
    assert norms == {"flat": 0.0, "empty": 0.0}


@pytest.mark.parametrize(
    "size",
    [normalize, LayerNorm(3), lambda x: F.normalize(mean_pool(x[None, None]))],
    ids=["normalize", "LayerNorm", "sentence vector"],
)
def test_a_vector_of_zeros_passes_back_no_nan(size):
    x = torch.zeros(3, requires_grad=True)
    size(x).square().sum().backward()
    assert torch.equal(x.grad, torch.zeros(3))


@pytest.mark.parametrize(
    ("gradient", "order", "expected"),
    [
        (torch.tensor([300.0, 400.0], dtype=torch.float16), 2, 500.0),
        (torch.ones(5120, dtype=torch.bfloat16), 1, 5120.0),
        (torch.full((5120,), 300.0, dtype=torch.float16), 1, 1_536_000.0),
        (torch.tensor([3e20, 4e20]), 2, 5e20),
        (torch.tensor([3e-30, 4e-30]), 2, 5e-30),
    ],
    ids=["float16 squares", "bfloat16 sum", "float16 sum", "float32 squares", "float32 small squares"],
)
def test_a_norm_neither_overflows_nor_loses_digits_on_the_way(gradient, order, expected):
    assert gradient_norms(Parameters(a=gradient), order=order)["a"] == pytest.approx(expected, rel=1e-6)


def test_the_scale_of_a_gradient_scaler_is_taken_out():
    model = Parameters(a=torch.tensor([3.0, 4.0]))
    target, model.a.grad = model.a.grad, None
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale((model.a * target).sum()).backward()
    assert gradient_norms(model)["a"] == 5120.0
    assert total_norm(gradient_norms(model, scale=scaler.get_scale())) == 5.0


@pytest.mark.parametrize(("bad", "says"), [(math.inf, math.isinf), (math.nan, math.isnan)])
def test_an_overflowed_gradient_is_reported_and_left_as_it_is(bad, says):
    gradient = torch.tensor([bad, 1.0])
    model = Parameters(a=gradient, b=torch.ones(2))
    norms = gradient_norms(model)
    assert says(norms["a"]) and says(total_norm(norms))
    assert norms["b"] == pytest.approx(math.sqrt(2))
    assert model.a.grad is gradient
    torch.testing.assert_close(gradient, torch.tensor([bad, 1.0]), equal_nan=True)
    assert torch.equal(model.b.grad, torch.ones(2))


def test_a_sparse_gradient_counts_each_row_once():
    embedding = nn.Embedding(5, 2, sparse=True)
    embedding(torch.tensor([1, 1, 3])).sum().backward()
    assert gradient_norms(embedding)["weight"] == pytest.approx(math.sqrt(4 + 4 + 1 + 1))


def test_shared_weights_count_once():
    model = Parameters(a=torch.tensor([3.0, 4.0]))
    model.b = model.a
    assert gradient_norms(model) == {"a": 5.0}


@pytest.mark.parametrize("order", [0, -1, -math.inf, math.nan])
def test_an_order_that_makes_no_norm_is_refused(order):
    for measure in (lambda: gradient_norms(nn.Identity(), order=order), lambda: total_norm({}, order=order)):
        with pytest.raises(ValueError, match=r"order must be a number above 0, such as 1, 2 or math\.inf, got"):
            measure()


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_a_scale_that_cannot_be_taken_out_is_refused(scale):
    with pytest.raises(ValueError, match="scale must be a finite number above 0, got"):
        gradient_norms(nn.Identity(), scale=scale)


@pytest.mark.parametrize("model", [None, torch.ones(2)])
def test_what_is_no_module_is_refused_by_name(unchecked, model):
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got"):
        gradient_norms(model)
