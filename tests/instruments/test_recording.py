import copy
import gc
import weakref

import pytest
import torch
from torch import nn

from transformer_anatomy import (
    Decoder,
    Encoder,
    KeyValueCache,
    MultiHeadAttention,
    Tap,
    Trace,
    Transformer,
    TransformerConfig,
    greedy_decode,
    load_minilm,
    padding_mask,
    record,
)

N_LAYERS, BATCH, N_HEADS, LENGTH, D_MODEL = 3, 2, 2, 5, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model=D_MODEL, n_heads=N_HEADS)
        self.hidden = Tap()
        self.activation = nn.ReLU(inplace=True)
        self.stream = Tap()

    def forward(self, x):
        x = x + self.self_attention(x)
        return self.stream(x + self.activation(self.hidden(2 * x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))
        self.fail = False

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            if self.fail:
                raise ZeroDivisionError
        return x


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def x():
    return torch.randn(BATCH, LENGTH, D_MODEL)


def count_hooks(model):
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_every_mode_records_a_map_for_each_layer_and_head(model, x, training, mode):
    model.train(training)
    with mode(), record(model) as trace:
        model(x)
    weights = trace.stack("*.self_attention.weights")
    assert weights.shape == (N_LAYERS, BATCH, N_HEADS, LENGTH, LENGTH)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(N_LAYERS, BATCH, N_HEADS, LENGTH))
    assert (weights[:, :, 0] - weights[:, :, 1]).abs().max() > 1e-3


def test_names_come_in_the_order_of_the_computation(model, x):
    with record(model) as trace:
        model(x)
    heads = ["queries", "keys", "values", "scores", "weights", "mixed", "update"]
    taps = [f"self_attention.{name}" for name in heads]
    assert trace.names() == [f"layers.{i}.{tap}" for i in range(N_LAYERS) for tap in [*taps, "hidden", "stream"]]
    assert list(trace) == trace.names() and len(trace) == 9 * N_LAYERS
    assert "layers.0.stream" in trace and "layers.9.stream" not in trace
    assert repr(trace) == "<Trace of 27 taps: see names()>"


def test_what_is_recorded_is_what_flows(model, x):
    with torch.no_grad(), record(model) as trace:
        output = model(x)
    assert torch.equal(trace["layers.2.stream"], output)
    stream = x
    for i, layer in enumerate(model.layers):
        update = trace[f"layers.{i}.self_attention.update"]
        assert torch.equal(update + stream, trace[f"layers.{i}.hidden"] / 2)
        assert torch.equal(trace[f"layers.{i}.stream"], stream + update + layer.activation(2 * (stream + update)))
        stream = trace[f"layers.{i}.stream"]


def test_only_what_is_asked_for_is_recorded(model, x):
    with record(model, "*.stream", "layers.1.*.weights") as trace:
        model(x)
    assert trace.names() == ["layers.0.stream", "layers.1.self_attention.weights", "layers.1.stream", "layers.2.stream"]


def test_watching_the_stream_leaves_values_and_gradients_bitwise_alone(model, x):
    def run():
        model.zero_grad()
        output = model(x)
        output.square().sum().backward()
        return [output, *(p.grad.clone() for p in model.parameters())]

    plain = run()
    with record(model, "*.stream", "*.hidden"):
        watched = run()
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def test_a_change_in_place_further_on_does_not_reach_the_record(model, x):
    with record(model, "*.hidden") as trace:
        model(x)
    assert (trace.stack("*.hidden") < 0).any()


def test_gradients_arrive_at_the_same_places(model, x):
    model, x = model.double(), x.double()
    with record(model) as trace:
        output = model(x)
    output.square().sum().backward()
    gradients = trace.gradients()
    assert isinstance(gradients, Trace) and gradients.names() == trace.names()
    assert gradients.stack("*.self_attention.scores").shape == (N_LAYERS, BATCH, N_HEADS, LENGTH, LENGTH)
    torch.testing.assert_close(gradients["layers.2.stream"], 2 * output)
    (expected,) = torch.autograd.grad(
        model.layers[2](stream := trace["layers.1.stream"].detach().requires_grad_()).square().sum(), stream
    )
    torch.testing.assert_close(gradients["layers.1.stream"], expected)


def test_several_backward_passes_add_up(model, x):
    with record(model, "*.stream") as trace:
        output = model(x)
    output.sum().backward(retain_graph=True)
    output.sum().backward()
    assert torch.equal(trace.gradients()["layers.2.stream"], torch.full_like(output, 2.0))


def test_a_recorded_tensor_is_still_in_the_graph(model, x):
    with record(model) as trace:
        output = model(x)
    (gradient,) = torch.autograd.grad(output.sum(), trace["layers.2.stream"])
    assert torch.equal(gradient, torch.ones_like(output))


def test_a_missing_gradient_says_why(model, x):
    with record(model) as trace:
        model(x)
    with pytest.raises(RuntimeError, match=r"no gradient arrived at any tap: call backward\(\)"):
        trace.gradients()
    for mode in (torch.no_grad, torch.inference_mode):
        with mode(), record(model) as trace:
            model(x)
        with pytest.raises(RuntimeError, match="the pass ran under no_grad or inference_mode"):
            trace.gradients()


def test_a_place_that_the_loss_does_not_depend_on_has_no_gradient(model, x):
    with record(model) as trace:
        model(x)
    trace["layers.1.stream"].sum().backward()
    gradients = trace.gradients()
    assert "layers.1.stream" in gradients and "layers.2.stream" not in gradients
    with pytest.raises(KeyError, match=r"no gradient at 'layers\.2\.stream'"):
        gradients.stack("*.stream")


def test_an_exception_leaves_no_hook_behind(model, x):
    before = model(x)
    model.fail = True
    with pytest.raises(ZeroDivisionError), record(model):
        model(x)
    assert count_hooks(model) == 0
    model.fail = False
    assert torch.equal(model(x), before)


def test_each_record_removes_exactly_its_own_hooks(model, x):
    fired = []
    model.layers[0].stream.register_forward_hook(lambda *_: fired.append("forward"))
    model.layers[1].register_full_backward_hook(lambda *_: fired.append("backward"))
    own = count_hooks(model)
    model.layers[1].activation = nn.ReLU()  # torch's own backward hook breaks activations in place
    with record(model) as outer:
        with record(model) as inner:
            model(x).sum().backward()
        assert count_hooks(model) == own + 9 * N_LAYERS
    assert count_hooks(model) == own
    for name in outer:
        assert torch.equal(outer[name], inner[name])
        assert torch.equal(outer.gradients()[name], inner.gradients()[name])
    assert fired == ["forward", "backward"]
    model(x).sum().backward()
    assert fired == ["forward", "backward"] * 2


def test_a_second_pass_into_the_same_trace_is_refused(model, x):
    with pytest.raises(RuntimeError, match=r"was already recorded: a trace holds one forward pass"), record(model):
        model(x)
        model(x)
    assert count_hooks(model) == 0


def test_no_pass_at_all_is_reported(model):
    with pytest.raises(RuntimeError, match="recorded 0 of 27 taps: either no forward pass ran"), record(model):
        pass


@pytest.mark.parametrize("warm", [True, False], ids=["run before", "first run"])
@pytest.mark.parametrize("target", ["model", "compiled"])
def test_a_compiled_model_is_reported_and_keeps_no_hook(model, x, warm, target, unchecked):
    compiled = torch.compile(model, backend="eager")
    if warm:
        compiled(x)
    recorded = {"model": model, "compiled": compiled}[target]
    refused = pytest.raises(RuntimeError, match=r"recorded 0 of 27 taps.*compiled.*run the model that was not compiled")
    with refused, record(recorded):
        compiled(x)
    assert count_hooks(model) == 0
    with record(recorded, "*.stream") as trace:
        model(x)
    assert trace.names() == [f"layers.{i}.stream" for i in range(N_LAYERS)]
    torch.testing.assert_close(compiled(x), model(x))


def test_nothing_matching_is_an_error_that_lists_what_there_is(model, x):
    refused = pytest.raises(ValueError, match=r"model has no tap matching '\*\.wieghts'; its taps: layers\.0\.self_att")
    with refused, record(model, "*.wieghts"):
        model(x)
    with pytest.raises(ValueError, match="model has no tap; its taps: none"), record(nn.Linear(2, 2)):
        pass
    with record(model, "*.stream") as trace:
        model(x)
    for miss in (lambda: trace["layers.0.hidden"], lambda: trace.stack("*.hidden")):
        with pytest.raises(KeyError, match=r"no tensor at '.*hidden'; there is one at: layers\.0\.stream"):
            miss()


def test_only_equal_shapes_stack(model, x):
    with record(model) as trace:
        model(x)
    with pytest.raises(ValueError, match=r"layers\.0\.self_attention\.queries \(2, 2, 5, 4\).*weights \(2, 2, 5, 5\)"):
        trace.stack("layers.0.self_attention.*s")


def test_only_a_module_can_be_recorded(unchecked):
    with pytest.raises(TypeError, match=r"model must be a torch\.nn\.Module, got function"), record(lambda x: x):
        pass


def test_a_trace_keeps_no_model_alive(x):
    model = Model()
    with torch.no_grad(), record(model) as trace:
        model(x)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None and len(trace) == 27


def test_two_training_steps_in_a_row_can_be_recorded(model, x):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    norms = []
    for _ in range(2):
        with record(model, "*.stream") as trace:
            loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms.append(trace.gradients().stack("*.stream").norm())
    assert norms[0] != norms[1]
    assert min(norms) > 0


def test_names_and_stacks_keep_to_the_computation_where_the_model_is_declared_otherwise():
    class Declared(nn.Module):
        def __init__(self):
            super().__init__()
            self.last, self.first = Tap(), Tap()

        def forward(self, x):
            return self.last(2 * self.first(x))

    with record(declared := Declared()) as trace:
        declared(torch.ones(2))
    assert trace.names() == ["first", "last"]
    assert torch.equal(trace.stack("*st"), torch.tensor([[1.0, 1.0], [2.0, 2.0]]))


IDS = torch.tensor([[1, 5, 3, 3, 9], [2, 7, 4, 0, 0]])
MASK = padding_mask([5, 3], LENGTH)
MAPS = {
    Encoder: {"*.self_attention.weights": LENGTH},
    Decoder: {"*.self_attention.weights": LENGTH, "*.cross_attention.weights": 4},
    Transformer: {
        "encoder.*.self_attention.weights": LENGTH,
        "decoder.*.self_attention.weights": LENGTH,
        "decoder.*.cross_attention.weights": LENGTH,
    },
}


def whole(kind, **choices):
    """A whole stack with three small layers."""
    sizes = {"d_model": D_MODEL, "n_heads": N_HEADS, "n_layers": N_LAYERS, "d_feedforward": 16, "max_length": 12}
    return kind(TransformerConfig(vocab_size=10, **sizes | choices))


def inputs(stack):
    """Two sequences of unequal length for a whole stack, with their masks."""
    if isinstance(stack, Encoder):
        return IDS, MASK
    if isinstance(stack, Decoder):
        memory = torch.linspace(-1, 1, BATCH * 4 * D_MODEL).sin().view(BATCH, 4, D_MODEL)
        return IDS, memory.to(next(stack.parameters()).dtype), MASK
    return IDS, IDS.flip(1), MASK, MASK.flip(-1)


@pytest.fixture(params=MAPS, ids=lambda kind: kind.__name__)
def stack(request):
    return whole(request.param)


@pytest.fixture(params=["post", "pre", "none"])
def norm(request):
    return request.param


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_every_mode_records_every_attention_of_a_whole_stack(stack, training, mode):
    stack.train(training)
    with mode(), record(stack) as trace:
        stack(*inputs(stack))
    for pattern, n_key in MAPS[type(stack)].items():
        weights = trace.stack(pattern)
        assert weights.shape == (N_LAYERS, BATCH, N_HEADS, LENGTH, n_key)
        rows = weights.sum(dim=-1)
        torch.testing.assert_close(rows, torch.where(rows > 0.5, 1.0, 0.0))  # Left padding sees nothing.
        assert (weights[:, :, 0] - weights[:, :, 1]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", MAPS)
def test_every_tap_of_a_whole_stack_is_named_in_the_order_of_the_computation(kind, norm):
    stack = whole(kind, norm=norm)
    taps = {module: name for name, module in stack.named_modules() if isinstance(module, Tap)}
    order = []
    for tap in taps:
        tap.register_forward_hook(lambda tap, *_: order.append(taps[tap]))
    with record(stack) as trace:
        stack(*inputs(stack))
    assert trace.names() == order
    assert sorted(order) == sorted(taps.values())


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("post", ["update", "self_attention_residual.norm.normalized", "mid_stream", "hidden", "update"]),
        ("pre", ["update", "mid_stream", "feedforward_residual.norm.normalized", "hidden", "update"]),
        ("none", ["update", "mid_stream", "hidden", "update", "stream"]),
    ],
)
def test_the_order_of_the_names_shows_where_the_norm_stands(norm, expected):
    encoder = whole(Encoder, norm=norm)
    with record(encoder, "layers.0.*") as trace:
        encoder(*inputs(encoder))
    names = [name.removeprefix("layers.0.") for name in trace.names()]
    assert names[0] == ("self_attention_residual.norm.normalized" if norm == "pre" else "self_attention.queries")
    assert names[-1] == "stream"
    after = names[names.index("self_attention.update") :][:5]
    assert [name.removeprefix("self_attention.").removeprefix("feedforward.") for name in after] == expected


def test_the_real_encoder_is_read_in_the_order_of_its_computation():
    minilm = load_minilm()
    with torch.no_grad(), record(minilm) as trace:
        minilm(minilm.tokenize("one word").ids)
    assert trace.names()[:3] == ["embedding.norm.normalized", "embedded", "layers.0.self_attention.queries"]
    assert trace.names()[-2:] == ["layers.5.feedforward_residual.norm.normalized", "layers.5.stream"]
    assert len(trace) == 2 + 6 * 13


def relative_change(watched, plain):
    return ((watched - plain).norm() / plain.norm()).item()


@pytest.mark.parametrize("kind", MAPS)
def test_recording_everything_changes_the_last_rounding_at_most(kind, norm):
    stack = whole(kind, norm=norm, activation="gelu").double()

    def run():
        stack.zero_grad()
        output = stack(*inputs(stack))
        output.square().sum().backward()
        return [output.detach(), *(p.grad for p in stack.parameters() if p.grad is not None)]

    plain = run()
    with record(stack):
        watched = run()
    largest = max(gradient.norm() for gradient in plain[1:])
    assert relative_change(watched[0], plain[0]) < 1e-12
    for after, before in zip(watched[1:], plain[1:], strict=True):  # That of a key bias is 0 but for rounding.
        assert (after - before).norm() < 1e-12 * largest


@torch.no_grad()
def test_recording_changes_the_last_rounding_of_the_real_encoder_at_most():
    minilm = load_minilm()
    sentences = ["She poured the water into the glass.", "Attention!", "The cat slept because it was warm."]
    ids, mask = minilm.tokenize_batch(sentences)
    real = mask[:, 0, 0]
    plain, exact = minilm(ids, mask)[real], copy.deepcopy(minilm).double()(ids, mask)[real]
    with record(minilm):
        watched = minilm(ids, mask)[real]
    assert 0 < (watched - plain).abs().max() < 1e-6 * plain.abs().max()
    assert relative_change(watched, exact) < 2 * relative_change(plain, exact)  # Either way rounds as much.


def test_a_pass_that_breaks_inside_a_whole_stack_leaves_no_hook_behind(stack, monkeypatch):
    before = stack(*inputs(stack))

    def broken(x):
        raise ZeroDivisionError

    last = [module for module in stack.modules() if isinstance(module, nn.ReLU)][-1]
    with monkeypatch.context() as patch:
        patch.setattr(last, "forward", broken)
        with pytest.raises(ZeroDivisionError), record(stack):
            stack(*inputs(stack))
    assert count_hooks(stack) == 0
    assert torch.equal(stack(*inputs(stack)), before)


def test_each_record_of_a_whole_stack_removes_exactly_its_own_hooks(stack):
    fired = []
    taps = [module for module in stack.modules() if isinstance(module, Tap)]
    layer = next(module for module in stack.modules() if type(module).__name__.endswith("Layer"))
    taps[-1].register_forward_hook(lambda *_: fired.append("forward"))
    layer.register_full_backward_hook(lambda *_: fired.append("backward"))
    with record(stack) as outer:
        with record(stack) as inner:
            stack(*inputs(stack)).square().sum().backward()
        assert count_hooks(stack) == 2 + len(taps)
    assert count_hooks(stack) == 2
    assert list(outer) == list(inner) and len(outer) == len(taps)
    assert all(torch.equal(outer[name], inner[name]) for name in outer)
    stack(*inputs(stack)).square().sum().backward()
    assert fired == ["forward", "backward"] * 2


def test_an_activation_in_place_stays_possible_and_bitwise_the_same(stack):
    for module in stack.modules():
        if isinstance(module, nn.ReLU):
            module.inplace = True

    def run():
        stack.zero_grad()
        output = stack(*inputs(stack))
        output.square().sum().backward()
        return [output, *(p.grad.clone() for p in stack.parameters() if p.grad is not None)]

    plain = run()
    with record(stack, "*stream", "*.feedforward.*", "*.update"):
        watched = run()
    assert all(torch.equal(a, b) for a, b in zip(watched, plain, strict=True))


@pytest.mark.parametrize("warm", [True, False], ids=["run before", "first run"])
def test_a_compiled_stack_is_reported_and_keeps_no_hook(warm, unchecked):
    encoder = whole(Encoder).eval()
    compiled = torch.compile(encoder, backend="eager")
    if warm:
        compiled(*inputs(encoder))
    refused = pytest.raises(RuntimeError, match=r"recorded 0 of 40 taps.*compiled.*run the model that was not compiled")
    with refused, record(compiled):
        compiled(*inputs(encoder))
    assert count_hooks(encoder) == 0
    with record(compiled, "*.stream") as trace:
        encoder(*inputs(encoder))
    assert trace.names() == [f"layers.{i}.stream" for i in range(N_LAYERS)]
    torch.testing.assert_close(compiled(*inputs(encoder)), encoder(*inputs(encoder)))


def test_decoding_in_several_passes_does_not_fit_into_one_trace():
    transformer = whole(Transformer).eval()
    with record(transformer) as trace:
        greedy_decode(transformer, IDS, IDS[:, :2], n_new=1)
    assert trace["decoder.layers.0.stream"].shape == (BATCH, 2, D_MODEL)
    for cached in (True, False):
        refused = pytest.raises(RuntimeError, match=r"decoder.* was already recorded: a trace holds one forward pass")
        with refused, record(transformer):
            greedy_decode(transformer, IDS, IDS[:, :2], n_new=2, cached=cached)
    assert count_hooks(transformer) == 0


@torch.no_grad()
def test_one_step_of_decoding_with_a_cache_can_be_recorded():
    transformer = whole(Transformer).eval()
    memory, cache = transformer.encode(IDS), KeyValueCache()
    transformer.decode(IDS[:, :4], memory, cache=cache)
    with record(transformer) as step:
        transformer.decode(IDS, memory, cache=cache)
    with record(transformer) as full:
        transformer.decode(IDS, memory)
    for name in ("*.self_attention.weights", "*.cross_attention.weights"):
        name = f"decoder.{name}"
        assert step.stack(name).shape == (N_LAYERS, BATCH, N_HEADS, 1, LENGTH)
        torch.testing.assert_close(step.stack(name), full.stack(name)[..., -1:, :])
    torch.testing.assert_close(step["logits"], full["logits"][:, -1:])
    with pytest.raises(KeyError, match=r"no tensor at 'decoder\.layers\.0\.cross_attention\.keys'"):
        step.stack("*.cross_attention.keys")
    spared = pytest.raises(RuntimeError, match=r"recorded 0 of 3 taps: .*a cache spares keys and values that it holds")
    longer = torch.cat([IDS, IDS[:, :1]], dim=1)
    with spared, record(transformer, "*.cross_attention.keys"):
        transformer.decode(longer, memory, cache=cache)


def test_training_goes_on_after_decoding_with_a_cache():
    transformer = whole(Transformer)
    optimizer = torch.optim.SGD(transformer.parameters(), lr=0.01)
    for _ in range(2):
        with record(transformer, "*.stream") as trace:
            logits = transformer.train()(*inputs(transformer))
        optimizer.zero_grad()
        logits.square().mean().backward()
        optimizer.step()
        assert trace.gradients().stack("decoder.*.stream").isfinite().all()
        greedy_decode(transformer.eval(), IDS, IDS[:, :2], n_new=3)
        cache = KeyValueCache()
        with torch.no_grad(), record(transformer) as trace:
            transformer.decode(IDS, transformer.encode(IDS), cache=cache)
        held = [tensor for layer in cache.layers for kind in layer for tensor in kind.held]
        assert not any(tensor.requires_grad for tensor in [*held, *trace.values()])
