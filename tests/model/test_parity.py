"""With PyTorch's weights copied over, our stacks are PyTorch's, in value and in gradient."""

import re

import pytest
import torch
from torch import nn

from transformer_anatomy import Decoder, Encoder, TransformerConfig, blocked_mask, causal_mask, padding_mask

N_LAYERS, D_MODEL, N_HEADS, D_FEEDFORWARD = 2, 8, 2, 16
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}

dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=["float32", "float64"])
norms = pytest.mark.parametrize("norm", ["post", "pre"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])
modes = pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
paddings = pytest.mark.parametrize("padded", [True, False], ids=["padded", "whole"])
causalities = pytest.mark.parametrize("causal", [True, False], ids=["causal", "open"])

ENCODER_NORMS = {"norm1": "self_attention_residual", "norm2": "feedforward_residual"}
DECODER_NORMS = {
    "norm1": "self_attention_residual",
    "norm2": "cross_attention_residual",
    "norm3": "feedforward_residual",
}


def under_our_names(theirs, norms):
    """Tensors of a stack of PyTorch (its weights, their gradients), called as in ours.

    Three facts are in here: PyTorch keeps the projections of queries, keys and values as one matrix, one below the
    other; it calls cross-attention "multihead_attn"; its norms are numbered as they follow each other.
    """
    places = {
        "self_attn.": "self_attention.",
        "multihead_attn.": "cross_attention.",
        "out_proj.": "output_projection.",
        "linear1.": "feedforward.hidden_projection.",
        "linear2.": "feedforward.output_projection.",
        **{f"{their}.": f"{our}.norm." for their, our in norms.items()},
    }
    ours = {}
    for their_name, tensor in theirs.items():
        name = re.sub("^norm\\.", "final_norm.", their_name)
        for their, our in places.items():
            name = name.replace(f".{their}", f".{our}")
        if "in_proj_" in name:
            for role, part in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                ours[name.replace("in_proj_", f"{role}_projection.")] = part
        else:
            ours[name] = tensor
    return ours


def copy_weights(reference, ours, norms):
    missing, unexpected = ours.load_state_dict(under_our_names(reference.state_dict(), norms), strict=False)
    assert missing == ["embedding.tokens.weight"] and not unexpected


def pair(ours, reference, norms, dtype):
    """Both stacks in `dtype`, with the same random weights, gains and offsets."""
    for parameter in reference.parameters():
        nn.init.normal_(parameter, std=0.4)
    copy_weights(reference, ours, norms)
    return ours.to(dtype), reference.to(dtype)


def config(norm, activation):
    return TransformerConfig(
        vocab_size=3,
        d_model=D_MODEL,
        n_heads=N_HEADS,
        n_layers=N_LAYERS,
        d_feedforward=D_FEEDFORWARD,
        norm=norm,
        activation=activation,
    )


def reference_layer(kind, norm, activation):
    return kind(
        D_MODEL,
        N_HEADS,
        D_FEEDFORWARD,
        dropout=0.0,
        activation=activation,
        batch_first=True,
        norm_first=norm == "pre",
    )


def last_norm(norm):
    return nn.LayerNorm(D_MODEL) if norm == "pre" else None


def encoders(norm, activation, dtype):
    layer = reference_layer(nn.TransformerEncoderLayer, norm, activation)
    reference = nn.TransformerEncoder(layer, N_LAYERS, last_norm(norm), enable_nested_tensor=False)
    return pair(Encoder(config(norm, activation)), reference, ENCODER_NORMS, dtype)


def decoders(norm, activation, dtype):
    layer = reference_layer(nn.TransformerDecoderLayer, norm, activation)
    reference = nn.TransformerDecoder(layer, N_LAYERS, last_norm(norm))
    return pair(Decoder(config(norm, activation)), reference, DECODER_NORMS, dtype)


def hidden_keys(mask):
    """A padding mask as PyTorch wants it: `(batch, key)`, True where a key is hidden."""
    return None if mask is None else blocked_mask(mask)[:, 0, 0]


def backward(module, output, inputs):
    """The gradients of the inputs and, by name, of the parameters, for a fixed gradient of the output."""
    cotangent = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output).sin()
    names, parameters = zip(*[(n, p) for n, p in module.named_parameters() if "embedding" not in n], strict=True)
    gradients = torch.autograd.grad(output, [*inputs, *parameters], cotangent)
    return gradients[: len(inputs)], dict(zip(names, gradients[len(inputs) :], strict=True))


def assert_same(ours, theirs, inputs, norms):
    """Values and gradients of two modules, each given with its output."""
    (our_module, our_output), (their_module, their_output) = ours, theirs
    tolerance = TOLERANCE[our_output.dtype]
    close = {"atol": tolerance, "rtol": tolerance}
    torch.testing.assert_close(our_output, their_output, **close)
    our_inputs, our_weights = backward(our_module, our_output, inputs)
    their_inputs, their_weights = backward(their_module, their_output, inputs)
    torch.testing.assert_close(our_inputs, their_inputs, **close)
    torch.testing.assert_close(our_weights, under_our_names(their_weights, norms), **close)


class TestEncoder:
    @norms
    @activations
    @paddings
    @causalities
    @modes
    @dtypes
    def test_the_encoder_is_that_of_pytorch(self, norm, activation, padded, causal, training, dtype):
        ours, reference = encoders(norm, activation, dtype)
        ours.train(training), reference.train(training)
        x = torch.randn(3, 5, D_MODEL, dtype=dtype, requires_grad=True)
        padding = padding_mask([5, 3, 1], 5) if padded else None
        order = causal_mask(5) if causal else None
        mask = padding & order if padded and causal else padding if padded else order

        theirs = reference(x, order if order is None else blocked_mask(order), hidden_keys(padding))
        assert_same((ours, ours.transform(x, mask)), (reference, theirs), [x], ENCODER_NORMS)

    @norms
    @activations
    @paddings
    @causalities
    @dtypes
    def test_and_that_of_its_fused_path(self, norm, activation, padded, causal, dtype):
        ours, reference = encoders(norm, activation, dtype)
        ours.eval(), reference.eval()
        x = torch.randn(3, 5, D_MODEL, dtype=dtype)
        padding = padding_mask([5, 3, 1], 5) if padded else None
        order = causal_mask(5) if causal else None
        mask = padding & order if padded and causal else padding if padded else order
        with torch.no_grad():
            theirs = reference(x, order if order is None else blocked_mask(order), hidden_keys(padding))
            torch.testing.assert_close(ours.transform(x, mask), theirs, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])

    @norms
    def test_each_sample_and_head_may_have_a_mask_of_its_own(self, norm):
        ours, reference = encoders(norm, "relu", torch.float64)
        x = torch.randn(3, 5, D_MODEL, dtype=torch.float64, requires_grad=True)
        mask = (torch.rand(3, N_HEADS, 5, 5) < 0.5) | torch.eye(5, dtype=torch.bool)
        # PyTorch wants (batch * head, query, key): the heads of a sample side by side, not the samples of a head.
        theirs = reference(x, blocked_mask(mask).flatten(0, 1))
        assert_same((ours, ours.transform(x, mask)), (reference, theirs), [x], ENCODER_NORMS)

    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
    def test_in_padded_rows_pytorch_has_zeros_in_one_mode_and_ours_what_a_pad_computes_in_all(self):
        ours, reference = encoders("post", "relu", torch.float64)
        nested = nn.TransformerEncoder(reference.layers[0], N_LAYERS)  # enable_nested_tensor is PyTorch's default.
        nested.load_state_dict(reference.state_dict())
        x, mask = torch.randn(2, 6, D_MODEL, dtype=torch.float64), padding_mask([2, 1], 6)
        real = mask[:, 0, 0]
        in_training = ours.transform(x, mask)
        torch.testing.assert_close(nested(x, src_key_padding_mask=~real), in_training)

        ours.eval(), nested.eval()
        with torch.no_grad():
            theirs, evaluated = nested(x, src_key_padding_mask=~real), ours.transform(x, mask)
        torch.testing.assert_close(theirs[real], evaluated[real])
        assert not theirs[~real].any()
        torch.testing.assert_close(evaluated, in_training, atol=1e-12, rtol=0)
        alone = torch.cat([x[:1, :2], x[:1, 5:]], dim=1)
        torch.testing.assert_close(evaluated[0, 5], ours.transform(alone, padding_mask([2], 3))[0, 2])

    def test_a_sample_of_padding_alone_is_nan_in_pytorch_and_finite_in_ours(self):
        ours, reference = encoders("post", "relu", torch.float32)
        ours.eval(), reference.eval()
        x, mask = torch.randn(2, 3, D_MODEL), padding_mask([3, 0], 3)
        with torch.no_grad():
            assert reference(x, src_key_padding_mask=hidden_keys(mask))[1].isnan().all()
            assert ours.transform(x, mask).isfinite().all()


class TestDecoder:
    @norms
    @activations
    @paddings
    @pytest.mark.parametrize("memory_padded", [True, False], ids=["memory padded", "memory whole"])
    @modes
    @dtypes
    def test_the_decoder_is_that_of_pytorch(self, norm, activation, padded, memory_padded, training, dtype):
        ours, reference = decoders(norm, activation, dtype)
        ours.train(training), reference.train(training)
        x = torch.randn(3, 4, D_MODEL, dtype=dtype, requires_grad=True)
        memory = torch.randn(3, 5, D_MODEL, dtype=dtype, requires_grad=True)
        mask = padding_mask([4, 2, 1], 4) if padded else None
        memory_mask = padding_mask([2, 5, 3], 5) if memory_padded else None

        theirs = reference(x, memory, blocked_mask(causal_mask(4)), None, hidden_keys(mask), hidden_keys(memory_mask))
        ours_output = ours.transform(x, memory, mask, memory_mask)
        assert_same((ours, ours_output), (reference, theirs), [x, memory], DECODER_NORMS)


class TestBoth:
    @norms
    def test_encoder_and_decoder_together_are_the_transformer_of_pytorch(self, norm):
        encoder, their_encoder = encoders(norm, "relu", torch.float64)
        decoder, their_decoder = decoders(norm, "relu", torch.float64)
        # Left to itself nn.Transformer adds final norms to post-norm stacks too, which normalises twice.
        reference = nn.Transformer(
            D_MODEL, N_HEADS, custom_encoder=their_encoder, custom_decoder=their_decoder, batch_first=True
        )
        copy_weights(their_encoder, encoder, ENCODER_NORMS)  # nn.Transformer has drawn new ones.
        copy_weights(their_decoder, decoder, DECODER_NORMS)
        source, target = (torch.randn(3, n, D_MODEL, dtype=torch.float64, requires_grad=True) for n in (5, 4))
        mask, source_mask = padding_mask([4, 2, 1], 4), padding_mask([2, 5, 3], 5)
        theirs = reference(
            source,
            target,
            tgt_mask=blocked_mask(causal_mask(4)),
            src_key_padding_mask=hidden_keys(source_mask),
            tgt_key_padding_mask=hidden_keys(mask),
            memory_key_padding_mask=hidden_keys(source_mask),
        )
        ours = decoder.transform(target, encoder.transform(source, source_mask), mask, source_mask)
        torch.testing.assert_close(ours, theirs, atol=1e-10, rtol=1e-10)
        gradients = [torch.autograd.grad(output.sin().sum(), [source, target]) for output in (ours, theirs)]
        torch.testing.assert_close(*gradients, atol=1e-10, rtol=1e-10)
