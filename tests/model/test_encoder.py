import copy

import pytest
import safetensors.torch
import torch
from torch import nn

from transformer_anatomy import (
    Encoder,
    EncoderLayer,
    LayerNorm,
    MultiHeadAttention,
    Tap,
    TransformerConfig,
    causal_mask,
    normalize,
    padding_mask,
    record,
    window_mask,
)

N_LAYERS, BATCH, N_HEADS, LENGTH, D_MODEL, VOCABULARY = 2, 2, 2, 5, 8, 11
NORMS, POSITIONS = ["post", "pre", "none"], ["sinusoidal", "learned", "none"]
LEFT = padding_mask([5, 3], LENGTH).flip(-1)
MASKS = {
    "none": None,
    "causal": causal_mask(LENGTH),
    "padding on the right": padding_mask([5, 2], LENGTH),
    "padding on the left": LEFT,
    "causal and padded": LEFT & causal_mask(LENGTH),
    "window": window_mask(LENGTH, 1),
    "an empty sample": padding_mask([5, 0], LENGTH),
    "one for each head": torch.stack([causal_mask(LENGTH), window_mask(LENGTH, 2)])[None],
    "keys": torch.tensor([True, False, True, True, True]),
}

both_ways = pytest.mark.parametrize("watch", [True, False], ids=["watched", "fused"])
every_norm = pytest.mark.parametrize("norm", NORMS)
every_kind_of_positions = pytest.mark.parametrize("positions", POSITIONS)
every_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def configure(**choices):
    sizes = {"vocab_size": VOCABULARY, "d_model": D_MODEL, "n_heads": N_HEADS, "n_layers": N_LAYERS}
    return TransformerConfig(**sizes | {"d_feedforward": 16, "max_length": 12} | choices)


def make_encoder(**choices):
    return Encoder(configure(**choices))


def encode(encoder, *args, watch, **kwargs):
    """Run all that has two ways written out, as when somebody looks, or fused, as when nobody does."""
    if not watch:
        return encoder(*args, **kwargs)
    with record(encoder):
        return encoder(*args, **kwargs)


@pytest.fixture
def ids():
    return torch.randint(VOCABULARY, (BATCH, LENGTH))


def count_parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


class TestStructure:
    @every_norm
    @pytest.mark.parametrize("residual", [True, False])
    def test_a_layer_is_two_branches_joined_to_the_stream(self, norm, residual):
        layer, x = EncoderLayer(configure(norm=norm, residual=residual)), torch.randn(2, 3, D_MODEL)
        attention, feedforward, (first, second) = layer.self_attention, layer.feedforward, (nn.Identity(),) * 2
        if norm != "none":
            first, second = layer.self_attention_residual.norm, layer.feedforward_residual.norm
            nn.init.normal_(first.weight), nn.init.normal_(second.bias)
        if norm == "pre":
            middle = residual * x + attention(first(x))
            expected = residual * middle + feedforward(second(middle))
        else:
            middle = first(residual * x + attention(x))
            expected = second(residual * middle + feedforward(middle))
        torch.testing.assert_close(layer(x), expected)

    @every_norm
    def test_without_a_norm_on_it_the_stream_is_the_sum_of_all_that_was_written(self, norm, ids):
        encoder = make_encoder(norm=norm)
        with record(encoder) as trace:
            encoder(ids)
        updates = trace.stack("*.self_attention.update").sum(dim=0) + trace.stack("*.feedforward.update").sum(dim=0)
        written = trace["embedded"] + updates
        assert torch.allclose(written, trace["layers.1.stream"], atol=1e-5) == (norm != "post")

    @pytest.mark.parametrize(("norm", "n_norms"), [("post", 4), ("pre", 5), ("none", 0)])
    def test_one_final_norm_ends_the_stack_where_none_stands_on_the_stream(self, norm, n_norms, ids):
        encoder = make_encoder(norm=norm)
        norms = [module for module in encoder.modules() if isinstance(module, LayerNorm)]
        assert len(norms) == n_norms
        for module in norms:
            nn.init.normal_(module.weight)
        with record(encoder, "*.stream") as trace:
            output = encoder(ids)
        last = trace["layers.1.stream"]
        torch.testing.assert_close(output, normalize(last) * norms[-1].weight if norm == "pre" else last)

    @every_norm
    def test_every_layer_has_weights_of_its_own(self, norm):
        encoder = make_encoder(norm=norm, n_layers=3)
        for module in (EncoderLayer, MultiHeadAttention, LayerNorm):
            found = [m for _, m in encoder.named_modules(remove_duplicate=False) if isinstance(m, module)]
            assert len({id(m) for m in found}) == len(found)
        weights = [p for p in encoder.layers.parameters() if p.dim() == 2]
        assert len(weights) == 3 * 6
        for i, weight in enumerate(weights):
            assert not any(weight.shape == other.shape and torch.equal(weight, other) for other in weights[:i])

    def test_the_depth_counts_in_parameters(self):
        one, two, three = (count_parameters(make_encoder(n_layers=n)) for n in (1, 2, 3))
        assert three - two == two - one == count_parameters(EncoderLayer(configure()))

    def test_the_taps_are_named_after_their_places(self):
        taps = [name for name, module in make_encoder(n_layers=1).named_modules() if isinstance(module, Tap)]
        attention = ["queries", "keys", "values", "scores", "weights", "mixed", "update"]
        assert sorted(taps) == sorted(
            [
                "embedded",
                *(f"layers.0.self_attention.{name}" for name in attention),
                "layers.0.self_attention_residual.norm.normalized",
                "layers.0.mid_stream",
                "layers.0.feedforward.hidden",
                "layers.0.feedforward.update",
                "layers.0.feedforward_residual.norm.normalized",
                "layers.0.stream",
            ]
        )


class TestStart:
    def test_linear_maps_start_xavier_uniform_without_offset(self):
        encoder = make_encoder(d_model=64, d_feedforward=256)
        for linear in (m for m in encoder.modules() if isinstance(m, nn.Linear)):
            bound = (6 / sum(linear.weight.shape)) ** 0.5
            assert bound * 0.98 < linear.weight.abs().max() <= bound
            assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)
            assert not linear.bias.any()

    @pytest.mark.parametrize("scaled", [True, False])
    def test_tokens_and_learned_positions_start_equally_large(self, scaled):
        embedding = make_encoder(
            vocab_size=500, max_length=500, d_model=64, positions="learned", scale_embedding=scaled
        ).embedding
        tokens, positions = embedding.tokens.weight, embedding.positions.table.weight
        assert tokens.norm(dim=-1).mean().item() == pytest.approx(1.0, rel=0.02)
        assert positions.norm(dim=-1).mean().item() == pytest.approx(embedding.scale, rel=0.02)

    def test_norms_start_as_the_identity(self):
        for norm in (m for m in make_encoder(norm="pre").modules() if isinstance(m, LayerNorm)):
            assert norm.weight.unique().tolist() == [1.0] and norm.bias.unique().tolist() == [0.0]


class TestOrder:
    @pytest.mark.parametrize(("positions", "matters"), [("sinusoidal", True), ("learned", True), ("none", False)])
    def test_only_positions_tell_the_order_of_the_tokens(self, positions, matters, ids):
        encoder, order = make_encoder(positions=positions), torch.tensor([3, 0, 4, 1, 2])
        gap = (encoder(ids[:, order]) - encoder(ids)[:, order]).abs().max()
        assert gap > 1e-3 if matters else gap < 1e-5

    @every_kind_of_positions
    def test_with_their_positions_given_tokens_may_come_in_any_order(self, positions, ids):
        encoder, order = make_encoder(positions=positions), torch.tensor([3, 0, 4, 1, 2])
        torch.testing.assert_close(encoder(ids[:, order], positions=order[None]), encoder(ids)[:, order])

    @every_norm
    @both_ways
    def test_with_a_causal_mask_no_state_depends_on_a_later_token(self, norm, watch):
        encoder = make_encoder(norm=norm, d_model=4).double()
        x = torch.randn(1, 4, 4, dtype=torch.float64)

        def transform(x):
            if not watch:
                return encoder.transform(x, causal_mask(4))
            with record(encoder):
                return encoder.transform(x, causal_mask(4))

        jacobian = torch.autograd.functional.jacobian(transform, x)
        reaches = jacobian[0, :, :, 0].abs().amax(dim=(1, 3)) > 1e-6
        assert torch.equal(reaches, torch.ones(4, 4).tril().bool())


class TestPadding:
    @every_kind_of_positions
    @pytest.mark.parametrize("side", ["right", "left"])
    @pytest.mark.parametrize("kind", ["padding alone", "causal", "window"])
    def test_a_sentence_has_the_same_states_with_and_without_padding(self, positions, side, kind):
        encoder, lengths, n = make_encoder(positions=positions), [6, 3], 6
        other = {
            "padding alone": lambda n: torch.ones(n, n, dtype=torch.bool),
            "causal": causal_mask,
            "window": lambda n: window_mask(n, 1),
        }[kind]
        ids, real = torch.randint(VOCABULARY, (2, n)), padding_mask(lengths, n)
        real = real.flip(-1) if side == "left" else real
        together = encoder(ids, real & other(n))
        for i, length in enumerate(lengths):
            row = real[i, 0, 0]
            alone = encoder(ids[i : i + 1, row], other(length))
            torch.testing.assert_close(together[i, row], alone[0], atol=1e-5, rtol=0)

    @every_kind_of_positions
    def test_counted_positions_are_those_that_one_would_give(self, positions, ids):
        encoder = make_encoder(positions=positions)
        given = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]])
        assert torch.equal(encoder(ids, LEFT), encoder(ids, LEFT, positions=given))
        unmoved = encoder(ids, LEFT, positions=torch.arange(LENGTH)[None])
        torch.testing.assert_close(unmoved[0], encoder(ids, LEFT)[0])
        assert torch.allclose(unmoved[1, 2:], encoder(ids, LEFT)[1, 2:], atol=1e-4) == (positions == "none")

    @every_norm
    def test_training_evaluation_and_no_grad_hold_the_same_rows_those_of_padding_too(self, norm):
        encoder, ids, mask = make_encoder(norm=norm), torch.randint(VOCABULARY, (2, 6)), padding_mask([2, 2], 6)
        trained = encoder.train()(ids, mask)
        with torch.no_grad():
            evaluated = encoder.eval()(ids, mask)
        assert trained.shape == evaluated.shape == (2, 6, D_MODEL)
        torch.testing.assert_close(evaluated, trained, atol=1e-6, rtol=0)
        assert evaluated.isfinite().all()

    @both_ways
    @every_norm
    def test_an_empty_sample_leaves_the_gradients_of_the_others_alone(self, norm, watch):
        encoder, ids = make_encoder(norm=norm).double(), torch.randint(VOCABULARY, (2, 3))
        with torch.autograd.set_detect_anomaly(True):
            states = encode(encoder, ids, padding_mask([3, 0], 3), watch=watch)
            together = torch.autograd.grad(states[0].square().sum(), list(encoder.parameters()))
        alone = encode(encoder, ids[:1], watch=watch)
        expected = torch.autograd.grad(alone.square().sum(), list(encoder.parameters()))
        assert states.isfinite().all()
        for a, b in zip(together, expected, strict=True):
            torch.testing.assert_close(a, b)

    @both_ways
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
    @pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
    def test_no_samples_or_no_tokens_give_states_of_that_shape(self, shape, positions, watch):
        encoder, ids = make_encoder(positions=positions, norm="pre"), torch.zeros(shape, dtype=torch.int64)
        batch, n = shape
        for mask in (None, padding_mask([n] * batch, n) & causal_mask(n), torch.tensor(True)):
            states = encode(encoder, ids, mask, watch=watch)
            assert states.shape == (*shape, D_MODEL)
            states.sum().backward()


class TestTwoWays:
    @every_mask
    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-10)])
    def test_looking_changes_values_and_gradients_by_the_last_rounding_only(self, norm, mask, dtype, tolerance, ids):
        encoder = make_encoder(norm=norm).to(dtype)
        upstream, results = torch.randn(BATCH, LENGTH, D_MODEL, dtype=dtype), []
        for watch in (True, False):
            states = encode(encoder, ids, mask, watch=watch)
            results.append([states, *torch.autograd.grad(states, list(encoder.parameters()), upstream)])
        for watched, fused in zip(*results, strict=True):
            torch.testing.assert_close(watched, fused, atol=tolerance, rtol=tolerance)

    @pytest.mark.parametrize(("backend", "norm"), [("eager", "pre"), ("aot_eager", "post")])
    def test_it_compiles_without_a_break_to_the_same_values_and_gradients(self, backend, norm, ids, unchecked):
        encoder, mask = make_encoder(norm=norm), LEFT & causal_mask(LENGTH)
        torch.compiler.reset()
        upstream, results = torch.randn(BATCH, LENGTH, D_MODEL), []
        for model in (torch.compile(encoder, backend=backend, fullgraph=True), encoder):
            states = model(ids, mask)
            results.append([states, *torch.autograd.grad(states, list(encoder.parameters()), upstream)])
        for compiled, plain in zip(*results, strict=True):
            torch.testing.assert_close(compiled, plain, atol=1e-5, rtol=1e-5)

    @both_ways
    @pytest.mark.parametrize("norm", ["post", "pre"])
    def test_gradients_of_a_layer_are_right(self, norm, watch):
        layer = EncoderLayer(configure(norm=norm, d_model=4, d_feedforward=6, activation="gelu")).double()
        x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda x: encode(layer, x, causal_mask(3), watch=watch), x, atol=1e-6)

    @both_ways
    @pytest.mark.parametrize("norm", ["post", "pre"])
    def test_it_works_under_autocast(self, norm, watch, ids):
        encoder = make_encoder(norm=norm)
        expected = encoder(ids, LEFT)
        with torch.autocast("cpu", torch.bfloat16):
            states = encode(encoder, ids, LEFT, watch=watch)
        torch.testing.assert_close(states.float(), expected, atol=0.05, rtol=0.05)


class TestDropout:
    @both_ways
    def test_it_acts_in_training_only(self, watch, ids):
        encoder = make_encoder(dropout=0.5)
        plain = make_encoder()
        plain.load_state_dict(encoder.state_dict())
        assert not torch.equal(encode(encoder, ids, watch=watch), encode(encoder, ids, watch=watch))
        encoder.eval()
        states = encode(encoder, ids, watch=watch)
        assert torch.equal(states, encode(encoder, ids, watch=watch))
        assert torch.equal(states, encode(plain, ids, watch=watch))

    def test_it_falls_on_embeddings_attention_weights_and_updates(self, ids):
        encoder = make_encoder(dropout=0.25)
        falls = [name for name, module in encoder.named_modules() if getattr(module, "p", None) == 0.25]
        branches = ("self_attention_residual", "feedforward_residual")
        assert falls == ["embedding.dropout", *(f"layers.{i}.{b}.dropout" for i in range(N_LAYERS) for b in branches)]
        assert all(layer.self_attention.dropout == 0.25 for layer in encoder.layers)


class TestMoving:
    @every_kind_of_positions
    def test_every_tensor_follows_the_model(self, positions, ids):
        for encoder, device, dtype in (
            (make_encoder(positions=positions).to("meta"), "meta", torch.float32),
            (make_encoder(positions=positions).double(), "cpu", torch.float64),
        ):
            tensors = [t for m in encoder.modules() for t in vars(m).values() if isinstance(t, torch.Tensor)]
            states = encoder(ids.to(device), LEFT.to(device))
            for tensor in [*tensors, *encoder.parameters(), *encoder.buffers(), states]:
                assert (tensor.device.type, tensor.dtype) == (device, dtype)

    @both_ways
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_stays_near(self, positions, dtype, watch, ids):
        encoder = make_encoder(positions=positions)
        expected = encoder(ids, LEFT)
        states = encode(copy.deepcopy(encoder).to(dtype), ids, LEFT, watch=watch)
        assert states.dtype == dtype
        torch.testing.assert_close(states.float(), expected, atol=0.1, rtol=0.05)

    def test_a_copy_has_weights_of_its_own(self, ids):
        encoder = make_encoder()
        duplicate, before = copy.deepcopy(encoder), encoder(ids)
        assert torch.equal(duplicate(ids), before)
        for parameter in duplicate.parameters():
            nn.init.zeros_(parameter)
        assert torch.equal(encoder(ids), before)

    @every_kind_of_positions
    def test_its_state_is_its_parameters_and_survives_a_file(self, positions, tmp_path, ids):
        encoder, other = make_encoder(positions=positions), make_encoder(positions=positions)
        assert list(encoder.state_dict()) == [name for name, _ in encoder.named_parameters()]
        assert ("embedding.positions.table.weight" in encoder.state_dict()) == (positions == "learned")
        safetensors.torch.save_file(encoder.state_dict(), tmp_path / "encoder.safetensors")
        assert not torch.equal(other(ids), encoder(ids))
        other.load_state_dict(safetensors.torch.load_file(tmp_path / "encoder.safetensors"))
        assert torch.equal(other(ids), encoder(ids))


class TestRefusals:
    @every_kind_of_positions
    def test_a_sequence_may_have_as_many_tokens_as_there_are_positions(self, positions, unchecked):
        for max_length in (1, 4):
            encoder = make_encoder(positions=positions, max_length=max_length)
            n = max_length + 1
            assert encoder(torch.zeros(1, max_length, dtype=torch.int64)).shape == (1, max_length, D_MODEL)
            message = f"token_ids must have at most max_length = {max_length} positions, got {n}"
            with pytest.raises(ValueError, match=message):
                encoder(torch.zeros(1, n, dtype=torch.int64))

    def test_ids_and_positions_may_have_32_bits(self, ids):
        encoder = make_encoder(positions="learned")
        positions = torch.arange(LENGTH)[None]
        assert torch.equal(encoder(ids.int(), positions=positions.int()), encoder(ids))

    @pytest.mark.parametrize(
        ("inputs", "error", "message"),
        [
            ({"token_ids": [[1, 2]]}, TypeError, "token_ids must be a tensor of whole numbers .*, got list"),
            ({"token_ids": torch.ones(2, 3)}, TypeError, "token_ids must be .*whole numbers.*, got torch.float32"),
            ({"token_ids": torch.tensor([1, 2])}, ValueError, r"token_ids must have shape .*, got \(2,\)"),
            ({"token_ids": torch.tensor([[3, 11]])}, ValueError, "token_ids must lie between 0 and 10, got 3 to 11"),
            ({"token_ids": torch.tensor([[-1, 2]])}, ValueError, "token_ids must lie between 0 and 10, got -1 to 2"),
            ({"mask": torch.ones(3, 3)}, TypeError, "mask must be boolean.*float32"),
            ({"mask": [True]}, TypeError, "mask must be a boolean tensor.*list"),
            ({"mask": padding_mask([3], 4)}, ValueError, r"\(1, 1, 1, 4\) does not broadcast .*\(2, 2, 3, 3\)"),
            ({"mask": padding_mask([3, 2, 1], 3)}, ValueError, r"\(3, 1, 1, 3\) does not broadcast .*\(2, 2, 3, 3\)"),
            ({"mask": padding_mask([3, 2], 3)[:, 0]}, ValueError, r"\(2, 1, 3\) could mean samples or heads"),
            ({"positions": torch.zeros(1, 3)}, TypeError, "positions must be .*whole numbers.*, got torch.float32"),
            ({"positions": torch.arange(3)}, ValueError, r"positions must have shape \(2, 3\) or \(1, 3\), got \(3,\)"),
            ({"positions": torch.arange(4)[None]}, ValueError, r"positions must have shape .*, got \(1, 4\)"),
            ({"positions": torch.tensor([[0, 1, 12]])}, ValueError, "positions must lie between 0 and 11, got 0 to 12"),
            ({"positions": torch.tensor([[-1, 0, 1]])}, ValueError, "positions must lie between 0 and 11, got -1 to 1"),
        ],
    )
    @every_kind_of_positions
    def test_bad_input_is_refused_at_the_edge(self, unchecked, positions, inputs, error, message):
        inputs = {"token_ids": torch.tensor([[1, 2, 3], [4, 5, 6]])} | inputs
        with pytest.raises(error, match=message):
            make_encoder(positions=positions)(**inputs)

    @every_norm
    def test_vectors_that_do_not_fit_are_refused_before_the_first_layer(self, norm, unchecked):
        encoder = make_encoder(norm=norm)
        with pytest.raises(TypeError, match=r"x is torch\.float64 but this module computes in torch.float32"):
            encoder.transform(torch.zeros(1, 3, D_MODEL).double())
        with pytest.raises(TypeError, match=r"x is torch\.float32 but this module computes in torch.float64"):
            make_encoder(norm=norm).double().transform(torch.zeros(1, 3, D_MODEL))
        for shape in ((3, D_MODEL), (1, 3, D_MODEL + 1)):
            with pytest.raises(ValueError, match=r"x must be \(batch, position, 8\), got"):
                encoder.transform(torch.zeros(shape))
