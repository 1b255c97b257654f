import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from transformer_anatomy import Encoder, Transformer, TransformerConfig, layer_gradients


def stack_of(*gradients):
    """Linear layers of one weight matrix each, with these gradients."""
    layers = nn.ModuleList(nn.Linear(2, 2, bias=False) for _ in gradients)
    for layer, gradient in zip(layers, gradients, strict=True):
        layer.weight.grad = None if gradient is None else torch.tensor(gradient)
    return layers


THREE_FOUR, SIX_EIGHT, ACROSS = [[3.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]], [[0.0, 5.0], [5.0, 0.0]]


def test_a_layer_is_the_norm_of_all_its_gradients():
    (stack,) = layer_gradients(stack_of(THREE_FOUR, SIX_EIGHT))
    assert stack.paths == ("0", "1")
    assert stack.norms == (5.0, 10.0)
    assert stack.first_to_last == 0.5


def test_neighbours_are_compared_by_the_angle_between_their_gradients():
    (stack,) = layer_gradients(stack_of(THREE_FOUR, SIX_EIGHT, ACROSS, [[-0.0, -1.0], [-1.0, -0.0]]))
    assert stack.cosines == pytest.approx((1.0, 0.0, -1.0))


def test_no_gradient_is_not_a_gradient_of_zero():
    (stack,) = layer_gradients(stack_of(THREE_FOUR, None, [[0.0, 0.0], [0.0, 0.0]]))
    assert stack.norms == (5.0, None, 0.0)
    assert stack.cosines == (None, None)
    assert stack.first_to_last is None


def test_the_scale_of_a_gradient_scaler_is_taken_out():
    (stack,) = layer_gradients(stack_of(THREE_FOUR, SIX_EIGHT), scale=1024.0)
    assert stack.norms == (5 / 1024, 10 / 1024)
    assert stack.first_to_last == 0.5 and stack.cosines == pytest.approx((1.0,))


def test_half_precision_neither_overflows_nor_rounds_to_zero():
    layers = stack_of([[300.0, 0.0], [0.0, 400.0]], [[3e-7, 0.0], [0.0, 4e-7]]).half()
    for layer, gradient in zip(layers, ([300.0, 400.0], [3e-7, 4e-7]), strict=True):
        layer.weight.grad = torch.diag(torch.tensor(gradient)).half()
    (stack,) = layer_gradients(layers)
    assert stack.norms[0] == 500.0
    assert stack.cosines[0] == pytest.approx(1.0, abs=0.05)  # float16 holds 3e-7 to one digit


def test_it_agrees_with_the_gradients_of_an_encoder():
    encoder = Encoder(TransformerConfig(7, 8, 2, 3, 16))
    encoder(torch.tensor([[1, 2, 3]])).pow(3).sum().backward()
    (stack,) = layer_gradients(encoder)
    vectors = [torch.cat([p.grad.flatten() for p in layer.parameters()]) for layer in encoder.layers]
    assert stack.paths == ("layers.0", "layers.1", "layers.2")
    assert stack.norms == pytest.approx([vector.norm().item() for vector in vectors], rel=1e-5)
    cosines = [torch.cosine_similarity(a, b, dim=0).item() for a, b in pairwise(vectors)]
    assert stack.cosines == pytest.approx(cosines, abs=1e-5)


def test_encoder_and_decoder_are_two_stacks():
    model = Transformer(TransformerConfig(7, 8, 2, 2, 16))
    model(torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2]])).logsumexp(dim=-1).sum().backward()
    encoder, decoder = layer_gradients(model)
    assert encoder.paths == ("encoder.layers.0", "encoder.layers.1")
    assert decoder.paths == ("decoder.layers.0", "decoder.layers.1")
    assert all(math.isfinite(norm) and norm > 0 for norm in encoder.norms + decoder.norms)


def test_nothing_is_changed_and_a_model_of_no_layers_is_refused(unchecked):
    layers = stack_of(THREE_FOUR, SIX_EIGHT)
    before = [layer.weight.grad for layer in layers]
    layer_gradients(layers)
    assert all(layer.weight.grad is gradient for layer, gradient in zip(layers, before, strict=True))
    with pytest.raises(ValueError, match="model must repeat a kind of module"):
        layer_gradients(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="scale must be a finite number above 0, got 0"):
        layer_gradients(layers, scale=0)


def test_sparse_gradients_count_like_dense_ones():
    tables = nn.ModuleList(nn.Embedding(5, 2, sparse=sparse) for sparse in (True, True))
    (tables[0](torch.tensor([1, 1])) + tables[1](torch.tensor([1, 3]))).sum().backward()
    (stack,) = layer_gradients(tables)
    assert stack.norms == pytest.approx((math.sqrt(8), 2.0))
    assert stack.cosines == pytest.approx((4 / (math.sqrt(8) * 2),))


@pytest.mark.parametrize("model", [None, torch.ones(2)])
def test_what_is_no_module_is_refused_by_name(unchecked, model):
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got"):
        layer_gradients(model)
