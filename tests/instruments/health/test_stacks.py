import pytest
from torch import nn

from transformer_anatomy import Decoder, Encoder, Transformer, TransformerConfig
from transformer_anatomy.instruments.health.stacks import find_stacks

CONFIG = TransformerConfig(vocab_size=5, d_model=8, n_heads=2, n_layers=3, d_feedforward=8)


def paths(model):
    return [[layer.path for layer in stack] for stack in find_stacks(model)]


@pytest.mark.parametrize("model", [Encoder(CONFIG), Decoder(CONFIG)])
def test_the_layers_of_a_stack_are_found(model):
    assert paths(model) == [["layers.0", "layers.1", "layers.2"]]


def test_each_stack_is_found_by_itself():
    assert [stack[0] for stack in paths(Transformer(CONFIG))] == ["encoder.layers.0", "decoder.layers.0"]


def test_among_different_modules_those_that_repeat_most_are_the_layers():
    model = nn.Sequential(nn.Embedding(4, 4), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU())
    assert paths(model) == [["1", "3"]]


def test_a_module_that_stands_twice_is_listed_twice():
    layer = nn.Linear(4, 4)
    assert paths(nn.ModuleList([layer, layer])) == [["0", "1"]]


def test_projections_side_by_side_are_no_layers():
    assert paths(nn.MultiheadAttention(8, 2)) == []
    assert paths(nn.TransformerEncoderLayer(8, 2)) == []
    assert paths(nn.Linear(4, 4)) == []


def test_embeddings_side_by_side_are_no_layers_where_blocks_are():
    parts = {"words": nn.Embedding(4, 8), "places": nn.Embedding(4, 8)}
    blocks = nn.ModuleList(nn.TransformerEncoderLayer(8, 2) for _ in range(3))
    assert paths(nn.ModuleDict(parts | {"h": blocks})) == [["h.0", "h.1", "h.2"]]


def test_maps_before_and_after_the_blocks_are_no_layers():
    blocks = nn.Sequential(*(nn.TransformerEncoderLayer(8, 2) for _ in range(3)))
    assert paths(nn.Sequential(nn.Linear(4, 8), blocks, nn.Linear(8, 4))) == [["1.0", "1.1", "1.2"]]


def test_of_two_kinds_that_repeat_alike_the_first_are_the_layers():
    for _ in range(5):
        model = nn.Sequential(*(kind(4) for _ in range(3) for kind in (nn.LayerNorm, nn.BatchNorm1d)))
        assert paths(model) == [["0", "2", "4"]]


def test_a_classifier_beside_blocks_is_no_layer_though_both_are_containers():
    blocks = [nn.Sequential(nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(3)]
    head = nn.Sequential(nn.Flatten(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
    assert paths(nn.Sequential(*blocks, head)) == [["0", "1", "2"]]
    assert paths(nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(3)), head))[0] == [
        "0",
        "1",
        "2",
    ]


def test_norms_are_no_layers_where_maps_repeat():
    model = nn.Sequential(*(part for _ in range(3) for part in (nn.LayerNorm(4), nn.Linear(4, 4))), nn.LayerNorm(4))
    assert paths(model) == [["1", "3", "5"]]
