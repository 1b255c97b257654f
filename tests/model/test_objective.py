import math

import pytest
import torch

from transformer_anatomy import (
    Transformer,
    TransformerConfig,
    batch_discourses,
    make_discourses,
    mask_tokens,
    next_token_pairs,
    padding_mask,
    token_loss,
)


class TestPairs:
    def test_every_token_but_the_last_is_paired_with_the_one_that_follows(self):
        inputs, labels = next_token_pairs(torch.tensor([[5, 6, 7, 8], [1, 2, 3, 4]]))
        assert inputs.tolist() == [[5, 6, 7], [1, 2, 3]]
        assert labels.tolist() == [[6, 7, 8], [2, 3, 4]]

    @pytest.mark.parametrize("n", [0, 1])
    def test_a_sequence_without_a_successor_makes_no_pair(self, n):
        inputs, labels = next_token_pairs(torch.zeros(2, n, dtype=torch.long))
        assert inputs.shape == labels.shape == (2, 0)

    def test_a_single_sequence_still_is_a_batch(self, unchecked):
        with pytest.raises(ValueError, match=r"token_ids must have shape \(batch, position\), got \(4,\)"):
            next_token_pairs(torch.zeros(4, dtype=torch.long))


class TestLoss:
    def test_it_is_the_surprise_in_nats(self):
        loss = token_loss(torch.tensor([[[10.0, 0.0, 0.0]]]), torch.tensor([[0]]))
        assert loss.item() == pytest.approx(math.log(1 + 2 * math.exp(-10)), rel=1e-3)  # 9.08e-5
        assert token_loss(torch.zeros(2, 3, 7), torch.ones(2, 3, dtype=torch.long)).item() == pytest.approx(math.log(7))

    @pytest.mark.parametrize(("vocab_size", "floor"), [(3, 0.5514), (16, 1.8746)])
    def test_logits_come_before_softmax_or_the_loss_cannot_fall_below_a_floor(self, vocab_size, floor):
        targets = torch.arange(vocab_size)[None]
        certain = 1000.0 * torch.eye(vocab_size)[None]
        assert token_loss(certain, targets).item() == 0
        # A second softmax sees scores between 0 and 1: it gives the right token e / (e + V - 1) at best.
        assert token_loss(certain.softmax(dim=-1), targets).item() == pytest.approx(floor, abs=5e-5)

    def test_padding_does_not_count(self):
        logits = torch.tensor([[[0.0] * 4, [0.0] * 4, [10.0, 0.0, 0.0, 0.0]]])
        targets, counted = torch.tensor([[1, 2, 0]]), padding_mask([2], 3)[:, 0, 0]
        assert token_loss(logits, targets, counted).item() == pytest.approx(math.log(4))
        assert token_loss(logits, targets).item() == pytest.approx(math.log(4) * 2 / 3, abs=1e-4)  # 0.9242

    def test_what_is_marked_as_not_asked_does_not_count(self):
        logits, targets = torch.randn(1, 3, 5, requires_grad=True), torch.tensor([[-100, 2, 4]])
        asked = torch.tensor([[False, True, True]])
        loss = token_loss(logits, targets)
        loss.backward()
        assert loss == token_loss(logits, targets.clamp(min=0), asked)
        assert loss.item() == pytest.approx(torch.nn.functional.cross_entropy(logits[0], targets[0]).item())
        assert not logits.grad[0, 0].any() and logits.grad[0, 1:].all()
        first = torch.tensor([[True, True, False]])
        assert token_loss(logits, targets, first) == token_loss(logits[:, 1:2], targets[:, 1:2])

    def test_another_mark_is_named(self):
        logits, targets = torch.randn(1, 3, 5), torch.tensor([[0, 2, 4]])
        assert token_loss(logits, targets, ignore_index=0) == token_loss(logits[:, 1:], targets[:, 1:])

    def test_masked_words_are_asked_for_as_they_come(self):
        ids = batch_discourses(make_discourses(4, 0)).ids
        _, targets = mask_tokens(ids, 0)
        logits = torch.zeros(*ids.shape, 111)
        assert token_loss(logits, targets).item() == pytest.approx(math.log(111))
        _, nothing = mask_tokens(ids, 0, share=0)
        assert token_loss(logits, nothing) == 0

    @pytest.mark.parametrize("n_pads", [0, 1, 5])
    def test_however_much_there_is_of_it(self, n_pads):
        logits, targets = torch.randn(2, 3 + n_pads, 5), torch.randint(5, (2, 3 + n_pads))
        counted = padding_mask([3, 2], 3 + n_pads)[:, 0, 0]
        by_hand = -logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0][counted].mean()
        torch.testing.assert_close(token_loss(logits, targets, counted), by_hand)

    @pytest.mark.parametrize("garbage", [math.nan, math.inf, -math.inf])
    def test_what_does_not_count_may_be_anything_and_gets_no_gradient(self, garbage):
        logits = torch.tensor([[[1.0, 2.0], [garbage, garbage]]], requires_grad=True)
        loss = token_loss(logits, torch.tensor([[0, -100]]), torch.tensor([[True, False]]))
        loss.backward()
        assert loss.item() == pytest.approx(math.log(1 + math.e))
        assert logits.grad[0, 0].any() and logits.grad[0, 1].tolist() == [0, 0]

    @pytest.mark.parametrize("shape", [(2, 3), (0, 3), (2, 0)])
    def test_where_nothing_counts_loss_and_gradients_are_zero(self, shape):
        logits = torch.randn(*shape, 5, requires_grad=True)
        nothing = torch.zeros(shape, dtype=torch.bool)
        loss = token_loss(logits, torch.zeros(shape, dtype=torch.long), nothing)
        loss.backward()
        assert loss.item() == 0 and not logits.grad.any()

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_it_is_computed_in_float32_at_least(self, dtype):
        logits, targets = torch.randn(4, 64, 32).to(dtype), torch.randint(32, (4, 64))
        loss = token_loss(logits, targets)
        assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        torch.testing.assert_close(loss.double(), token_loss(logits.double(), targets), atol=1e-5, rtol=0)

    def test_targets_may_be_int32(self):
        logits, targets = torch.randn(2, 3, 5), torch.randint(5, (2, 3))
        assert token_loss(logits, targets.int()) == token_loss(logits, targets)

    @pytest.mark.parametrize(
        ("logits", "targets", "counted", "error", "message"),
        [
            ((2, 3, 5), torch.zeros(2, 4).long(), None, ValueError, r"got \(2, 3, 5\) and \(2, 4\)"),
            ((6, 5), torch.zeros(6).long(), None, ValueError, r"logits must be \(batch, position, vocabulary\)"),
            ((2, 3, 5), torch.full((2, 3), -1), None, ValueError, "targets must lie between 0 and 4, got -1"),
            ((2, 3, 5), torch.full((2, 3), 5), None, ValueError, "targets must lie between 0 and 4, got 5 to 5"),
            ((2, 3, 5), torch.zeros(2, 3), None, TypeError, "targets must be .* whole numbers .* got torch.float32"),
            (
                (2, 3, 5),
                torch.zeros(2, 3).long(),
                torch.ones(2, 3),
                TypeError,
                "counted must be boolean",
            ),
            ((2, 3, 5), torch.zeros(2, 3).long(), torch.ones(3).bool(), ValueError, r"\(2, 3\), got \(3,\)"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, unchecked, logits, targets, counted, error, message):
        with pytest.raises(error, match=message):
            token_loss(torch.zeros(logits), targets, counted)


def loss_on_fresh_data_after_training(pairs, seed):
    """Train a small decoder on sequences that nothing can predict, each of them new; then measure on more of them."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": 16, "d_model": 16, "n_heads": 2, "n_layers": 1, "d_feedforward": 32, "max_length": 12}
    model = Transformer(TransformerConfig(**sizes, norm="pre", positions="learned"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

    def loss(batch):
        inputs, labels = pairs(torch.randint(16, (batch, 13)))
        return token_loss(model(torch.zeros(batch, 1, dtype=torch.long), inputs), labels)

    for _ in range(60):
        optimizer.zero_grad()
        loss(32).backward()
        optimizer.step()
    with torch.no_grad():
        return loss(512).item()


@pytest.mark.parametrize("seed", range(3))
def test_the_unpredictable_cannot_be_predicted(seed):
    # Below ln 16 = 2.7726 by more than the noise of 6144 tokens, the model would have seen what it should say.
    assert loss_on_fresh_data_after_training(next_token_pairs, seed) > math.log(16) - 0.005


def test_without_the_shift_the_model_says_what_it_reads_and_seems_perfect():
    assert loss_on_fresh_data_after_training(lambda ids: (ids[:, :-1], ids[:, :-1]), 0) < 0.1


def test_the_pairs_are_copies():
    ids = torch.tensor([[1, 2, 3, 0, 0]])
    inputs, targets = next_token_pairs(ids)
    targets[targets == 0] = 9
    assert inputs.tolist() == [[1, 2, 3, 0]] and ids.tolist() == [[1, 2, 3, 0, 0]]


def test_logits_are_floating_point(unchecked):
    with pytest.raises(TypeError, match=r"logits must be a floating-point tensor, got torch.int64"):
        token_loss(torch.zeros(1, 2, 3, dtype=torch.long), torch.zeros(1, 2, dtype=torch.long))
