import math

import pytest
import torch
from torch import nn

from tests.instruments.test_collapse import BATCH, LENGTH, draw
from transformer_anatomy import (
    Encoder,
    LanguageModel,
    Tap,
    Transformer,
    TransformerConfig,
    padding_mask,
    record,
    write_ratio,
    write_ratios,
)

X = torch.ones(2, 3, 4)


class TestWriteRatio:
    def test_it_is_a_ratio_of_norms_over_the_tokens_of_a_sample(self):
        stream = torch.tensor([[[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]]])
        update = torch.tensor([[[0.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]])
        assert write_ratio(update, stream).tolist() == pytest.approx([1 / 5, 2])

    def test_twice_the_update_is_twice_the_ratio_and_nothing_written_is_zero(self):
        stream, update = draw(), draw()
        torch.testing.assert_close(write_ratio(2 * update, stream), 2 * write_ratio(update, stream))
        torch.testing.assert_close(write_ratio(-stream, stream), torch.ones(BATCH, dtype=torch.float64))
        assert write_ratio(0 * update, stream).tolist() == [0] * BATCH

    def test_a_large_ratio_of_numbers_that_fit_is_no_overflow(self):
        assert write_ratio(torch.full((1, 2, 2), 1e30), torch.full((1, 2, 2), 1e-5)).item() == pytest.approx(1e35)
        assert write_ratio(torch.full((1, 2, 2), 1e-30), torch.full((1, 2, 2), 1e5)).item() == pytest.approx(1e-35)

    def test_a_sample_of_one_token_has_one_and_a_sample_of_none_does_not(self):
        assert write_ratio(torch.ones(1, 1, 2), torch.ones(1, 1, 2)).item() == 1
        with pytest.raises(ValueError, match=r"at least 1 token, got \[7, 0, 7\]"):
            write_ratio(draw(), draw(), padding_mask([7, 0, 7], LENGTH))

    def test_nothing_is_a_multiple_of_a_stream_of_zeros(self):
        with pytest.raises(ValueError, match="stream is zero for a whole sample"):
            write_ratio(draw(), draw() * torch.tensor([1, 0, 1])[:, None, None])


class Branch(nn.Module):
    """A branch that writes a fixed multiple of what it reads."""

    def __init__(self, factor):
        super().__init__()
        self.factor, self.update = factor, Tap()

    def forward(self, x):
        return self.update(self.factor * x)


class Layer(nn.Module):
    def __init__(self, i):
        super().__init__()
        self.self_attention, self.mid_stream = Branch(0.5 + i), Tap()
        self.feedforward, self.stream = Branch(-0.25 / (1 + i)), Tap()

    def forward(self, x):
        x = self.mid_stream(x + self.self_attention(x))
        return self.stream(x + self.feedforward(x))


class Stack(nn.Module):
    def __init__(self, n_layers):
        super().__init__()
        self.embedded = Tap()
        self.layers = nn.ModuleList(Layer(i) for i in range(n_layers))

    def forward(self, x):
        x = self.embedded(x)
        for layer in self.layers:
            x = layer(x)
        return x


class TestWriteRatios:
    @pytest.mark.parametrize("n_layers", [1, 3, 12])
    def test_each_branch_is_measured_by_the_stream_it_is_added_to(self, n_layers):
        model, mask = Stack(n_layers), padding_mask([7, 4, 1], LENGTH)
        with record(model) as trace:
            model(draw())
        for branch, factors in {
            "self_attention": [0.5 + i for i in range(n_layers)],
            "feedforward": [0.25 / (1 + i) for i in range(n_layers)],
        }.items():
            expected = torch.tensor(factors, dtype=torch.float64)[:, None].expand(n_layers, BATCH)
            torch.testing.assert_close(write_ratios(trace, branch), expected)
            torch.testing.assert_close(write_ratios(trace, branch, mask), expected)

    def test_padding_is_left_out(self):
        model, stream = Stack(2), draw()
        with record(model) as trace:
            model(stream)
        trace["layers.1.self_attention.update"][1, 4:] = math.nan
        assert write_ratios(trace, "self_attention", padding_mask([7, 4, 7], LENGTH)).isfinite().all()

    def test_a_layer_recorded_alone_is_measured_by_its_own_stream(self):
        model = Stack(3)
        with record(model, "layers.1.stream", "layers.2.self_attention.update") as trace:
            model(draw())
        torch.testing.assert_close(write_ratios(trace, "self_attention"), torch.full((1, BATCH), 2.5).double())

    def test_what_was_not_recorded_is_named(self):
        model = Stack(2)
        with record(model, "embedded", "*.self_attention.update", "*.feedforward.update") as trace:
            model(draw())
        with pytest.raises(KeyError, match=r"no tensor at 'layers\.0\.stream'"):
            write_ratios(trace, "self_attention")
        with pytest.raises(KeyError, match=r"no tensor at 'layers\.0\.mid_stream'"):
            write_ratios(trace, "feedforward")
        with record(model, "embedded") as trace:
            model(draw())
        with pytest.raises(
            KeyError, match=r"trace holds no layers\.\*\.feedforward\.update; there is one at: embedded"
        ):
            write_ratios(trace, "feedforward")

    @pytest.mark.parametrize("branch", ["attention", None, 1])
    def test_there_are_three_branches(self, unchecked, branch):
        model = Stack(1)
        with record(model) as trace:
            model(draw())
        accepted = "'self_attention', 'cross_attention', 'feedforward'"
        with pytest.raises(ValueError, match=f"branch must be one of {accepted}, got {branch!r}"):
            write_ratios(trace, branch)


SIZES = TransformerConfig(10, d_model=8, n_heads=2, n_layers=3, d_feedforward=16, norm="pre")


class TestWhereTheLayersAre:
    @pytest.mark.parametrize("branch", ["self_attention", "feedforward"])
    def test_layers_inside_another_module_are_measured_like_layers_alone(self, branch):
        model, ids = LanguageModel(SIZES), torch.randint(10, (2, 5))
        with record(model.encoder) as alone:
            model.encoder(ids)
        with record(model) as inside:
            model(ids)
        torch.testing.assert_close(write_ratios(inside, branch), write_ratios(alone, branch), rtol=0, atol=0)
        wrapped = nn.ModuleDict({"layers": nn.ModuleList([Encoder(SIZES)])})
        with record(wrapped) as deeper:
            wrapped["layers"][0](ids)
        assert write_ratios(deeper, branch).shape == (3, 2)

    def test_what_a_decoder_adds_is_measured_by_the_stream_it_is_added_to(self):
        model, ids = Transformer(SIZES), torch.randint(10, (2, 5))
        with record(model, "decoder.*") as trace:
            model(ids, ids)
        before = {
            "self_attention": ["embedded", "layers.0.stream", "layers.1.stream"],
            "cross_attention": [f"layers.{i}.stream_after_self_attention" for i in range(3)],
            "feedforward": [f"layers.{i}.stream_after_cross_attention" for i in range(3)],
        }
        for branch, places in before.items():
            updates = trace.stack(f"*.{branch}.update")
            expected = write_ratio(updates, torch.stack([trace[f"decoder.{place}"] for place in places]))
            torch.testing.assert_close(write_ratios(trace, branch), expected, rtol=0, atol=0)
            after = {"self_attention": "stream_after_self_attention", "cross_attention": "stream_after_cross_attention"}
            streams = trace.stack(f"*.layers.*.{after.get(branch, 'stream')}")
            torch.testing.assert_close(expected, write_ratio(updates, streams - updates), rtol=1e-4, atol=1e-4)

    def test_two_stacks_are_named_and_how_to_choose_one(self):
        model, ids = Transformer(SIZES), torch.randint(10, (2, 5))
        with record(model) as trace:
            model(ids, ids)
        message = r'holds encoder\.layers and decoder\.layers: record one of them, as in record\(model, "encoder\.\*"\)'
        with pytest.raises(ValueError, match=message):
            write_ratios(trace, "feedforward")
        assert write_ratios(trace, "cross_attention").shape == (3, 2)  # which only one of them has


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: write_ratio(X[:1], X),
            ValueError,
            r"update must have the shape of stream, \(2, 3, 4\), got \(1, 3, 4\)",
        ),
        (lambda: write_ratio(X / 0, X), ValueError, "update must be finite"),
        (lambda: write_ratio(X, X * math.nan), ValueError, "stream must be finite"),
        (lambda: write_ratio(X[..., :0], X[..., :0]), ValueError, r"update must have shape .*got \(2, 3, 0\)"),
        (lambda: write_ratio(X[:, :0], X[:, :0]), ValueError, r"at least 1 token, got \[0, 0\] of 0 positions"),
        (lambda: write_ratio(None, X), TypeError, "update must be a tensor, got NoneType"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
