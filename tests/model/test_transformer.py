from copy import deepcopy

import pytest
import safetensors.torch
import torch

from transformer_anatomy import (
    Transformer,
    TransformerConfig,
    greedy_decode,
    next_token_pairs,
    padding_mask,
    record,
    token_loss,
    window_mask,
)


def make_transformer(**choices):
    sizes = {"vocab_size": 11, "d_model": 8, "n_heads": 2, "n_layers": 2, "d_feedforward": 16, "max_length": 6}
    return Transformer(TransformerConfig(**sizes | choices))


def random_ids(batch, n):
    return torch.randint(1, 11, (batch, n))


class TestLogits:
    @pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
    def test_there_is_a_logit_for_every_token_at_every_target_position(self, tied):
        logits = make_transformer(tie_weights=tied)(random_ids(2, 5), random_ids(2, 3))
        assert logits.shape == (2, 3, 11)
        # Softmax comes with the loss, and only there: probabilities would be positive and sum to 1.
        assert (logits < 0).any() and (logits.sum(dim=-1) - 1).abs().min() > 1e-3

    def test_a_logit_is_the_product_of_the_stream_with_a_token_vector_when_they_are_tied(self):
        transformer = make_transformer(tie_weights=True)
        with record(transformer, "decoder.layers.1.stream", "logits") as trace:
            transformer(random_ids(1, 3), random_ids(1, 2))
        stream, vectors = trace["decoder.layers.1.stream"], transformer.encoder.embedding.tokens.weight
        torch.testing.assert_close(trace["logits"][0, 1, 7], stream[0, 1] @ vectors[7])

    def test_encoding_and_decoding_are_the_two_halves(self):
        transformer, source, target = make_transformer(), random_ids(2, 5), random_ids(2, 3)
        source_mask, target_mask = padding_mask([2, 5], 5), padding_mask([3, 1], 3)
        memory = transformer.encode(source, source_mask)
        logits = transformer.decode(target, memory, target_mask=target_mask, source_mask=source_mask)
        assert torch.equal(logits, transformer(source, target, source_mask, target_mask))

    def test_a_target_token_does_not_see_what_comes_after_it(self):
        transformer, source, target = make_transformer(), random_ids(2, 5), random_ids(2, 4)
        changed = target.clone()
        changed[:, 2:] = (changed[:, 2:] + 1) % 11
        before, after = transformer(source, target), transformer(source, changed)
        assert torch.equal(before[:, :2], after[:, :2]) and not torch.equal(before[:, 2:], after[:, 2:])


class TestMasks:
    def test_source_padding_is_hidden_from_encoder_and_decoder(self):
        transformer, source, target = make_transformer(), random_ids(2, 5), random_ids(2, 3)
        mask = padding_mask([2, 5], 5)
        other = source.masked_fill(~mask[:, 0, 0], 0)
        torch.testing.assert_close(transformer(source, target, mask), transformer(other, target, mask))
        torch.testing.assert_close(
            transformer(source, target, mask)[:1], transformer(source[:1, :2], target[:1]), atol=1e-6, rtol=1e-5
        )
        assert not torch.allclose(transformer(source, target), transformer(other, target))

    def test_target_padding_is_hidden_from_the_target_and_hides_nothing_of_the_source(self):
        transformer, source, target = make_transformer(), random_ids(2, 3), random_ids(2, 3)
        real = transformer(source, target, None, padding_mask([3, 1], 3))
        torch.testing.assert_close(real[:1], transformer(source[:1], target[:1]))
        torch.testing.assert_close(real[1:, :1], transformer(source[1:], target[1:, :1]))

    def test_each_sample_goes_alone_as_in_its_batch(self):
        transformer, source, target = make_transformer().double(), random_ids(3, 5), random_ids(3, 4)
        lengths = [(5, 2), (3, 4), (1, 1)]
        source_mask, target_mask = (padding_mask([pair[i] for pair in lengths], (5, 4)[i]) for i in (0, 1))
        together = transformer(source, target, source_mask, target_mask)
        for i, (n_source, n_target) in enumerate(lengths):
            alone = transformer(source[i : i + 1, :n_source], target[i : i + 1, :n_target])
            torch.testing.assert_close(together[i : i + 1, :n_target], alone, atol=1e-10, rtol=0)

    def test_the_window_of_the_encoder_is_not_one_of_the_decoder(self):
        transformer, source, target = make_transformer(), random_ids(2, 5), random_ids(2, 3)
        window, padding = window_mask(5, 1), padding_mask([2, 5], 5)
        memory = transformer.encode(source, window & padding)
        torch.testing.assert_close(
            transformer(source, target, window & padding), transformer.decode(target, memory, source_mask=padding)
        )


class TestEdges:
    @pytest.mark.parametrize(("batch", "n_source", "n_target"), [(0, 5, 3), (2, 0, 3), (2, 5, 0), (0, 0, 0)])
    def test_nothing_in_gives_nothing_out_of_the_right_shape(self, batch, n_source, n_target):
        logits = make_transformer()(random_ids(batch, n_source), random_ids(batch, n_target))
        assert logits.shape == (batch, n_target, 11) and logits.isfinite().all()

    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            (
                {"target_ids": torch.ones(3, 3).long()},
                ValueError,
                "target_ids must have the batch size of source_ids, 2, got 3",
            ),
            (
                {"source_ids": torch.ones(1, 4).long()},
                ValueError,
                "target_ids must have the batch size of source_ids, 1, got 2",
            ),
            (
                {"source_ids": torch.ones(2, 7).long()},
                ValueError,
                "source_ids .* at most max_length = 6 .* got 7",
            ),
            (
                {"target_ids": torch.ones(2, 7).long()},
                ValueError,
                "target_ids .* at most max_length = 6 .* got 7",
            ),
            ({"source_ids": torch.full((2, 4), 11)}, ValueError, "source_ids must lie between 0 and 10, got 11 to 11"),
            ({"target_ids": torch.full((2, 3), -1)}, ValueError, "target_ids must lie between 0 and 10, got -1 to -1"),
            ({"target_ids": torch.zeros(2, 3)}, TypeError, "target_ids must be a tensor of whole numbers"),
            ({"source_mask": torch.ones(2, 4)}, TypeError, "mask must be boolean .* got torch.float32"),
            ({"source_mask": torch.ones(2, 1, 1, 3).bool()}, ValueError, r"\(2, 1, 1, 3\) does not broadcast"),
            ({"target_mask": torch.ones(2, 1, 1, 4).bool()}, ValueError, r"\(2, 1, 1, 4\) does not broadcast"),
        ],
    )
    def test_what_does_not_fit_is_refused_by_name(self, unchecked, given, error, message):
        with pytest.raises(error, match=message):
            make_transformer()(**{"source_ids": random_ids(2, 4), "target_ids": random_ids(2, 3)} | given)

    def test_a_source_mask_without_an_axis_for_heads_is_refused_when_decoding_too(self):
        transformer, source = make_transformer(), random_ids(2, 4)
        memory = transformer.encode(source)
        # Read as (head, query, key), what one sample may see would be shown to all.
        with pytest.raises(ValueError, match="could mean samples or heads"):
            transformer.decode(random_ids(2, 3), memory, source_mask=torch.ones(2, 4, 4, dtype=torch.bool))


def token_matrices(transformer):
    """The three matrices that tying makes one: input vectors of source and target, output weights."""
    output = transformer.output_projection
    return [
        transformer.encoder.embedding.tokens.weight,
        transformer.decoder.embedding.tokens.weight,
        output.tokens.weight if transformer.config.tie_weights else output.weight,
    ]


class TestTying:
    @pytest.fixture
    def tied(self):
        return make_transformer(vocab_size=10, d_model=4, tie_weights=True)

    def assert_tied(self, transformer):
        matrices = token_matrices(transformer)
        assert all(matrix is matrices[0] for matrix in matrices)
        assert isinstance(matrices[0], torch.nn.Parameter)

    def test_one_matrix_is_counted_once(self, tied):
        untied = make_transformer(vocab_size=10, d_model=4)
        self.assert_tied(tied)
        count = {t: sum(p.numel() for p in t.parameters()) for t in (tied, untied)}
        assert count[untied] - count[tied] == 2 * 10 * 4
        assert len({id(matrix) for matrix in token_matrices(untied)}) == 3
        embedding_and_head = torch.nn.ModuleList([tied.decoder.embedding, tied.output_projection])
        assert sum(p.numel() for p in embedding_and_head.parameters()) == 10 * 4

    @pytest.mark.parametrize("assign", [True, False])
    def test_it_stays_one_when_weights_are_loaded(self, tied, assign):
        other = make_transformer(vocab_size=10, d_model=4, tie_weights=True)
        other.load_state_dict(deepcopy(tied.state_dict()), assign=assign)
        self.assert_tied(other)
        source, target = torch.randint(10, (2, 5)), torch.randint(10, (2, 3))
        assert torch.equal(other(source, target), tied(source, target))

    @pytest.mark.parametrize(
        "move",
        [
            deepcopy,
            lambda t: t.double(),
            lambda t: t.to("meta"),
            lambda t: t.to_empty(device="cpu"),
            lambda t: t.eval(),
        ],
        ids=["deepcopy", "double", "to meta", "to_empty", "eval"],
    )
    def test_it_stays_one_when_the_model_is_copied_or_moved(self, tied, move):
        moved = move(tied)
        self.assert_tied(moved)
        assert sum(p.numel() for p in moved.parameters()) == sum(p.numel() for p in tied.parameters())

    def test_an_optimiser_moves_it_once_by_the_sum_of_its_gradients(self, tied):
        before = token_matrices(tied)[0].detach().clone()
        tied(torch.randint(10, (2, 5)), torch.randint(10, (2, 3))).square().sum().backward()
        optimizer = torch.optim.SGD(tied.parameters(), lr=1e-3)
        optimizer.step()
        self.assert_tied(tied)
        matrix = token_matrices(tied)[0]
        torch.testing.assert_close(matrix.detach(), before - 1e-3 * matrix.grad)

    def test_it_is_saved_once_and_comes_back_tied(self, tied, tmp_path):
        safetensors.torch.save_model(tied, tmp_path / "tied.safetensors")
        saved = safetensors.torch.load_file(tmp_path / "tied.safetensors")
        assert sum(tensor.shape == (10, 4) for tensor in saved.values()) == 1
        other = make_transformer(vocab_size=10, d_model=4, tie_weights=True)
        assert safetensors.torch.load_model(other, tmp_path / "tied.safetensors") == (set(), [])
        self.assert_tied(other)
        source, target = torch.randint(10, (2, 5)), torch.randint(10, (2, 3))
        assert torch.equal(other(source, target), tied(source, target))


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_it_learns_to_reverse_and_greedy_decoding_does_it(tied):
    start, n = 0, 4
    sizes = {"vocab_size": 10, "d_model": 32, "n_heads": 2, "n_layers": 2, "d_feedforward": 64, "max_length": 8}
    transformer = Transformer(TransformerConfig(**sizes, norm="pre", positions="learned", tie_weights=tied))
    optimizer = torch.optim.AdamW(transformer.parameters(), lr=5e-3)
    prompt = torch.full((64, 1), start)
    for _ in range(150):
        source = torch.randint(1, 10, (64, n))
        inputs, labels = next_token_pairs(torch.cat([prompt, source.flip(1)], dim=1))
        optimizer.zero_grad()
        token_loss(transformer(source, inputs), labels).backward()
        optimizer.step()
    source = torch.randint(1, 10, (64, n))
    decoded = greedy_decode(transformer.eval(), source, prompt, n_new=n)
    assert (decoded[:, 1:] == source.flip(1)).all(dim=1).float().mean() > 0.95  # chance is 1 in 6561
