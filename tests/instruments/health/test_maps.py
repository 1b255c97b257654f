import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer_anatomy import attention_scores, causal_mask
from transformer_anatomy.instruments.health.maps import N_QUERIES, fused_scores, map_figures
from transformer_anatomy.instruments.health.observer import Observer


@pytest.mark.parametrize("n", [2, 24, 3 * N_QUERIES])
def test_uniform_attention_is_1_and_a_copy_is_0(n):
    assert map_figures(torch.zeros(2, 3, n, n)).entropy == pytest.approx(1)
    copy = map_figures(1000 * torch.eye(n).expand(2, 3, n, n))
    assert copy.entropy == 0 and copy.spread == (1000 if n == 2 else 0)


@pytest.mark.parametrize("hidden", [-math.inf, torch.finfo(torch.float32).min, -1e9, -1e4])
def test_hidden_keys_do_not_count_however_they_are_hidden(hidden):
    scores = torch.zeros(1, 1, 6, 6).masked_fill(~causal_mask(6), hidden)
    figures = map_figures(scores)
    assert figures.entropy == pytest.approx(1) and figures.blind == 0
    assert map_figures(torch.full((2, 1, 4, 4), hidden)).blind == 1
    some = torch.zeros(2, 1, 4, 4)
    some[1] = hidden
    assert map_figures(some).blind == 1 and map_figures(some).entropy == pytest.approx(1)


def test_one_key_leaves_no_choice():
    figures = map_figures(torch.zeros(1, 1, 3, 1))
    assert math.isnan(figures.entropy) and math.isnan(figures.spread) and figures.blind == 0


def test_the_spread_is_that_between_the_quartiles():
    scores = 10 * torch.randn(4, 2, 64, 400)
    assert map_figures(scores).spread == pytest.approx(13.49, rel=0.05)  # 1.349 standard deviations


@pytest.mark.parametrize("causal", [True, False])
def test_fused_attention_has_the_scores_of_the_formula(causal):
    queries, keys = torch.randn(2, 4, 6, 8), torch.randn(2, 2, 6, 8)
    bias = torch.randn(2, 1, 6, 6)
    expected = attention_scores(queries, keys.repeat_interleave(2, dim=1)) + bias
    expected = expected.masked_fill(~causal_mask(6), -math.inf) if causal else expected
    given = {"query": queries, "key": keys, "attn_mask": bias, "is_causal": causal}
    torch.testing.assert_close(fused_scores(given), expected)
    given |= {"attn_mask": bias > 0, "is_causal": False, "scale": 1.0}
    assert fused_scores(given).isinf().float().mean() == pytest.approx(0.5, abs=0.2)


def test_every_way_to_attend_is_seen_alike():
    """Fused, written out, and PyTorch's own module with and without weights."""
    attention = nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(3, 7, 16)

    class Written(nn.Module):
        def forward(self, x):
            queries, keys, values = F.linear(x, attention.in_proj_weight, attention.in_proj_bias).chunk(3, dim=-1)
            queries, keys, values = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in (queries, keys, values))
            if self.fused:
                return F.scaled_dot_product_attention(queries, keys, values)
            return attention_scores(queries, keys).softmax(dim=-1) @ values

    def entropy(model, call):
        with Observer(model, []) as observer:
            call(model)
        (figures,) = observer.seen.maps.values()
        return figures.entropy

    fused, written = Written(), Written()
    fused.fused, written.fused = True, False
    entropies = [
        entropy(fused, lambda model: model(x)),
        entropy(written, lambda model: model(x)),
        entropy(attention, lambda model: model(x, x, x, need_weights=True)),
        entropy(attention, lambda model: model(x, x, x, need_weights=False)),
    ]
    assert entropies == pytest.approx([entropies[0]] * 4, rel=1e-5)


def test_a_softmax_over_classes_is_no_attention():
    model = nn.Sequential(nn.Linear(8, 5), nn.Softmax(dim=-1))
    with Observer(model, []) as observer:
        model(torch.randn(2, 6, 8))
        F.softmax(torch.randn(2, 3, 4, 4), dim=1)
    assert observer.seen.maps == {}
