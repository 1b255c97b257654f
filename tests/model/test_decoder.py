import pytest
import torch
from torch import nn

from transformer_anatomy import (
    Decoder,
    DecoderLayer,
    Encoder,
    LayerNorm,
    Transformer,
    TransformerConfig,
    causal_mask,
    padding_mask,
    record,
)


def config(**choices):
    sizes = {"vocab_size": 11, "d_model": 8, "n_heads": 2, "n_layers": 2, "d_feedforward": 16, "max_length": 6}
    return TransformerConfig(**sizes | choices)


@pytest.fixture
def decoder():
    return Decoder(config())


def depends(function, x):
    """Whether each position of the output depends on each position of `x`, for one sample: `(position, position)`."""
    jacobian = torch.autograd.functional.jacobian(
        lambda x: function(x)[0], x
    )  # (position, d_model, 1, position, d_model)
    return jacobian.ne(0).any(dim=4).any(dim=(1, 2))


class TestWhoSeesWhom:
    @pytest.mark.parametrize("norm", ["post", "pre", "none"])
    @pytest.mark.parametrize("residual", [True, False])
    @pytest.mark.parametrize(
        "mask", [None, torch.ones(5, 5, dtype=torch.bool)], ids=["no mask", "a mask that allows all"]
    )
    def test_no_position_sees_a_later_one_whatever_the_mask(self, norm, residual, mask):
        decoder = Decoder(config(norm=norm, residual=residual))
        x, memory = torch.randn(1, 5, 8), torch.randn(1, 3, 8)
        assert torch.equal(depends(lambda x: decoder.transform(x, memory, mask), x), causal_mask(5))

    def test_padding_of_the_sequence_hides_in_addition(self, decoder):
        x, memory, mask = torch.randn(1, 4, 8), torch.randn(1, 3, 8), padding_mask([2], 4)
        # A pad still sees itself through the residual stream, and nobody else sees it.
        expected = (causal_mask(4) & mask[0, 0]) | torch.eye(4, dtype=torch.bool)
        assert torch.equal(depends(lambda x: decoder.transform(x, memory, mask), x), expected)

    def test_all_positions_see_all_of_the_memory_but_its_padding(self, decoder):
        x, memory, mask = torch.randn(1, 4, 8), torch.randn(1, 3, 8), padding_mask([2], 3)
        sees = depends(lambda memory: decoder.transform(x, memory, None, mask), memory)
        assert sees.tolist() == [[True, True, False]] * 4

    def test_the_memory_is_masked_by_the_padding_of_its_source_not_of_the_target(self):
        decoder = Decoder(config(d_model=1, n_heads=1, n_layers=1, norm="none", positions="none"))
        attention = decoder.layers[0].cross_attention
        nn.init.zeros_(attention.query_projection.weight)
        for projection in (attention.value_projection, attention.output_projection):
            nn.init.ones_(projection.weight)
        memory, memory_mask, mask = torch.tensor([[[1.0], [2.0], [30.0]]]), padding_mask([2], 3), padding_mask([1], 2)
        with record(decoder, "*.cross_attention.update") as trace:
            decoder(torch.tensor([[4, 5]]), memory, mask, memory_mask)
        # The target's mask would give 1, no mask 11.
        torch.testing.assert_close(trace["layers.0.cross_attention.update"], torch.tensor([[[1.5], [1.5]]]))

    def test_a_memory_that_is_all_hidden_is_as_good_as_none(self, decoder):
        ids, memory = torch.randint(11, (2, 4)), torch.randn(2, 3, 8)
        hidden = decoder(ids, memory, memory_mask=padding_mask([0, 3], 3))
        assert hidden.isfinite().all()
        torch.testing.assert_close(hidden[:1], decoder(ids[:1], memory[:1, :0]))
        torch.testing.assert_close(hidden[1:], decoder(ids[1:], memory[1:]))

    @pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
    def test_a_sequence_has_the_same_states_with_padding_on_its_left(self, positions):
        decoder = Decoder(config(positions=positions))
        ids, memory = torch.randint(11, (2, 5)), torch.randn(2, 3, 8)
        padded = decoder(ids, memory, padding_mask([5, 2], 5).flip(-1))
        torch.testing.assert_close(padded[:1], decoder(ids[:1], memory[:1]))
        torch.testing.assert_close(padded[1:, 3:], decoder(ids[1:, 3:], memory[1:]))


class TestStructure:
    @pytest.mark.parametrize("residual", [True, False])
    def test_a_layer_looks_back_looks_up_and_thinks(self, residual):
        layer = DecoderLayer(config(norm="none", residual=residual))
        x, memory, mask = torch.randn(2, 4, 8), torch.randn(2, 3, 8), causal_mask(4)
        stream = x if residual else 0
        stream = stream + layer.self_attention(x, mask=mask)
        stream = (stream if residual else 0) + layer.cross_attention(stream, memory)
        stream = (stream if residual else 0) + layer.feedforward(stream)
        torch.testing.assert_close(layer(x, memory, mask), stream)

    @pytest.mark.parametrize(("norm", "n_norms"), [("post", 6), ("pre", 7), ("none", 0)])
    def test_the_pre_norm_stack_alone_ends_with_a_norm_of_its_own(self, norm, n_norms):
        decoder = Decoder(config(norm=norm))
        assert sum(isinstance(module, LayerNorm) for module in decoder.modules()) == n_norms
        assert isinstance(decoder.final_norm, LayerNorm) == (norm == "pre")

    def test_every_layer_starts_with_its_own_weights(self, decoder):
        first, second = (dict(layer.named_parameters()) for layer in decoder.layers)
        for name, weight in first.items():
            assert weight is not second[name]
            assert weight.dim() == 1 or not torch.equal(weight, second[name]), name

    def test_each_layer_leaves_its_stream_and_its_maps(self, decoder):
        with record(decoder) as trace:
            out = decoder(torch.randint(11, (2, 4)), torch.randn(2, 3, 8))
        assert trace["embedded"].shape == (2, 4, 8)
        assert trace.stack("*.self_attention.weights").shape == (2, 2, 2, 4, 4)
        assert trace.stack("*.cross_attention.weights").shape == (2, 2, 2, 4, 3)
        streams = trace.stack("layers.*.stream")
        assert streams.shape == (2, 2, 4, 8) and torch.equal(streams[-1], out)

    @pytest.mark.parametrize("mask", [None, padding_mask([4, 2], 4), padding_mask([4, 2], 4).flip(-1)])
    def test_looking_changes_nothing(self, mask):
        decoder = Decoder(config()).double()
        ids = torch.randint(11, (2, 4))
        memory = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
        memory_mask = padding_mask([1, 3], 3)
        unseen = decoder(ids, memory, mask, memory_mask)
        with record(decoder):
            seen = decoder(ids, memory, mask, memory_mask)
        torch.testing.assert_close(seen, unseen, atol=1e-10, rtol=0)
        gradients = [torch.autograd.grad(out.sin().sum(), [memory, *decoder.parameters()]) for out in (seen, unseen)]
        torch.testing.assert_close(*gradients, atol=1e-10, rtol=0)

    @pytest.mark.parametrize("norm", ["post", "pre", "none"])
    def test_gradients_of_a_layer_are_the_slopes(self, norm):
        layer = DecoderLayer(config(d_model=4, d_feedforward=8, norm=norm, activation="gelu")).double()
        x, memory = (torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
        mask = causal_mask(3) & torch.tensor([False, True, True])  # The first query may attend to nothing.
        assert torch.autograd.gradcheck(
            lambda *given: layer(*given, mask, padding_mask([2], 3)), (x, memory), atol=1e-6
        )

    def test_dropout_is_for_training(self):
        decoder, ids, memory = Decoder(config(dropout=0.5)), torch.randint(11, (2, 4)), torch.randn(2, 3, 8)
        assert not torch.equal(decoder(ids, memory), decoder(ids, memory))
        decoder.eval()
        assert torch.equal(decoder(ids, memory), decoder(ids, memory))

    def test_compiled_it_computes_the_same(self, unchecked, decoder):
        ids, memory, mask = torch.randint(11, (2, 4)), torch.randn(2, 3, 8), padding_mask([4, 2], 4)
        compiled = torch.compile(decoder, backend="eager", fullgraph=True)
        torch.testing.assert_close(compiled(ids, memory, mask), decoder(ids, memory, mask))


class TestEdges:
    @pytest.mark.parametrize(("batch", "n", "n_memory"), [(0, 4, 3), (2, 0, 3), (2, 4, 0), (0, 0, 0)])
    def test_nothing_in_gives_nothing_out_of_the_right_shape(self, decoder, batch, n, n_memory):
        ids, memory = torch.zeros(batch, n, dtype=torch.long), torch.zeros(batch, n_memory, 8)
        assert decoder(ids, memory).shape == (batch, n, 8)
        masks = torch.ones(batch, 1, 1, n, dtype=torch.bool), torch.ones(batch, 1, 1, n_memory, dtype=torch.bool)
        out = decoder(ids, memory, *masks)
        assert out.shape == (batch, n, 8) and out.isfinite().all()

    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
    def test_it_computes_in_the_dtype_of_its_weights(self, decoder, dtype):
        out = decoder.to(dtype)(torch.randint(11, (2, 4)), torch.randn(2, 3, 8, dtype=dtype))
        assert out.dtype == dtype and out.isfinite().all()

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"memory": torch.zeros(3, 3, 8)}, ValueError, "memory must have the batch size of token_ids, 2, got 3"),
            ({"memory": torch.zeros(2, 3, 4)}, ValueError, r"memory must be \(batch, position, 8\), got \(2, 3, 4\)"),
            ({"memory": torch.zeros(2, 8)}, ValueError, r"memory must be \(batch, position, 8\), got \(2, 8\)"),
            ({"memory": torch.zeros(2, 3, 8).double()}, TypeError, "memory is torch.float64 but .* in torch.float32"),
            ({"token_ids": torch.zeros(2, 4)}, TypeError, "token_ids must be .* whole numbers .* got torch.float32"),
            ({"token_ids": torch.full((2, 4), 11)}, ValueError, "token_ids must lie between 0 and 10, got 11 to 11"),
            ({"token_ids": torch.full((2, 4), -1)}, ValueError, "token_ids must lie between 0 and 10, got -1 to -1"),
            ({"token_ids": torch.zeros(4).long()}, ValueError, r"token_ids must have shape \(batch, position\), got"),
            ({"token_ids": torch.zeros(2, 7).long()}, ValueError, "at most max_length = 6 positions, got 7"),
            ({"mask": torch.ones(2, 1, 1, 4)}, TypeError, "mask must be boolean .* got torch.float32"),
            ({"mask": torch.ones(2, 4, 4).bool()}, ValueError, r"\(2, 4, 4\) could mean samples or heads"),
            (
                {"mask": torch.ones(2, 1, 1, 3).bool()},
                ValueError,
                r"\(2, 1, 1, 3\) does not broadcast .* \(2, 2, 4, 4\)",
            ),
            ({"memory_mask": torch.ones(2, 1, 1, 4).bool()}, ValueError, r"\(2, 1, 1, 4\) does not .* \(2, 2, 4, 3\)"),
            ({"memory_mask": torch.ones(2, 1, 1, 3).long()}, TypeError, "mask must be boolean .* got torch.int64"),
        ],
    )
    def test_what_does_not_fit_is_refused_at_the_door(self, unchecked, decoder, given, error, message):
        fitting = {"token_ids": torch.zeros(2, 4, dtype=torch.long), "memory": torch.zeros(2, 3, 8)}
        entered = []
        decoder.embedding.register_forward_pre_hook(lambda *_: entered.append(True))
        with pytest.raises(error, match=message):
            decoder(**fitting | given)
        assert not entered


class TestPositions:
    def test_a_key_that_only_the_future_sees_is_no_token(self, decoder):
        ids, memory = torch.randint(11, (1, 4)), torch.randn(1, 3, 8)
        mask = torch.zeros(4, 4, dtype=torch.bool)
        mask[:, 2:] = True
        mask[0, 1] = True  # of the future of query 0, which causality hides anyway
        torch.testing.assert_close(decoder(ids, memory, mask), decoder(ids, memory, mask & causal_mask(4)))

    def test_a_first_token_can_be_hidden_without_renumbering_the_rest(self, decoder):
        ids, memory = torch.randint(11, (1, 4)), torch.randn(1, 3, 8)
        hidden = torch.tensor([False, True, True, True])
        stay, again = torch.arange(4)[None], torch.tensor([[0, 0, 1, 2]])
        assert not torch.allclose(decoder(ids, memory, hidden, positions=stay), decoder(ids, memory, hidden))
        torch.testing.assert_close(decoder(ids, memory, hidden, positions=again), decoder(ids, memory, hidden))


@pytest.mark.parametrize("stack", [Encoder, Decoder, Transformer])
def test_a_stack_is_made_of_a_configuration(unchecked, stack):
    with pytest.raises(TypeError, match="config must be a TransformerConfig, got dict"):
        stack({"vocab_size": 3})
