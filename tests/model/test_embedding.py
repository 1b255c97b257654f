import math

import pytest
import torch
from torch import nn

from transformer_anatomy import Embedding, TransformerConfig, normalize, sinusoids

IDS, POSITIONS = torch.tensor([[4, 0, 4], [1, 2, 3]]), torch.tensor([[0, 1, 2]])


def embedding(**choices):
    return Embedding(TransformerConfig(vocab_size=5, d_model=4, n_heads=1, max_length=3, **choices))


@pytest.mark.parametrize(("scaled", "scale"), [(True, 2.0), (False, 1.0)])
def test_a_token_is_scaled_by_the_root_of_the_width_and_its_position_is_not(scaled, scale):
    embed = embedding(scale_embedding=scaled)
    expected = scale * embed.tokens.weight[IDS] + sinusoids(POSITIONS, 4)
    torch.testing.assert_close(embed(IDS, POSITIONS), expected)


def test_a_learned_position_is_added_to_its_token():
    embed = embedding(positions="learned", scale_embedding=False)
    table = embed.positions.table.weight
    assert torch.equal(embed(IDS, POSITIONS), embed.tokens.weight[IDS] + table)
    assert torch.equal(embed(IDS, POSITIONS.flip(-1)), embed.tokens.weight[IDS] + table.flip(0))


def test_the_norm_comes_after_the_position_and_before_dropout():
    embed = embedding(embedding_norm=True, norm_eps=1e-3, dropout=0.5).eval()
    entered = normalize(2.0 * embed.tokens.weight[IDS] + sinusoids(POSITIONS, 4), 1e-3)
    torch.testing.assert_close(embed(IDS, POSITIONS), entered)
    dropped = embed.train()(IDS, POSITIONS)
    torch.testing.assert_close(dropped, torch.where(dropped == 0, dropped, 2 * entered))
    assert 0 < (dropped == 0).sum() < dropped.numel()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_without_tokens_there_are_no_vectors(positions):
    embed = embedding(positions=positions)
    assert embed(IDS[:0], POSITIONS).shape == (0, 3, 4)
    assert embed(IDS[:, :0], POSITIONS[:, :0]).shape == (2, 0, 4)


def test_a_token_s_vector_learns_by_the_scale():
    embed = embedding(positions="none")
    embed(torch.tensor([[2, 2, 3]]), POSITIONS).sum().backward()
    assert embed.tokens.weight.grad[:, 0].tolist() == [0.0, 0.0, 2 * math.sqrt(4), math.sqrt(4), 0.0]
    assert isinstance(embed.norm, nn.Identity)
