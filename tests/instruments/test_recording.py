import gc
import weakref

import pytest
import torch
from torch import nn

from transformer_anatomy import MultiHeadAttention, Tap, Trace, record

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


def test_names_come_in_the_order_of_the_model(model, x):
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
