import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from transformer_anatomy import copying, majority_share, next_token_pairs, repetition, reversing, unigram_entropy

MAKERS = [copying, reversing, repetition]


def everything(data):
    return [value for value in vars(data).values() if isinstance(value, torch.Tensor)]


@pytest.mark.parametrize(("maker", "turn"), [(copying, list), (reversing, lambda row: row[::-1])])
def test_the_target_is_the_source_after_a_start(maker, turn):
    pairs = maker(50, 0, length=7, n_symbols=4)
    assert pairs.source.shape == (50, 7) and pairs.target.shape == (50, 8)
    assert [[0, *turn(row)] for row in pairs.source.tolist()] == pairs.target.tolist()
    assert pairs.source.unique().tolist() == [1, 2, 3, 4]
    assert pairs.vocab_size == 5


def test_a_block_comes_twice_and_what_has_been_seen_is_predictable():
    batch = repetition(50, 0, block=3, n_symbols=4)
    assert batch.ids.shape == (50, 7)
    assert batch.ids[:, 0].unique().tolist() == [0]
    assert torch.equal(batch.ids[:, 1:4], batch.ids[:, 4:])
    assert batch.predictable.tolist() == [False] * 3 + [True] * 3
    assert batch.ids[:, 1:].unique().tolist() == [1, 2, 3, 4]


def test_a_language_model_is_asked_for_the_next_id():
    inputs, labels = next_token_pairs(torch.tensor([[0, 3, 1, 2]]))
    assert (inputs.tolist(), labels.tolist()) == ([[0, 3, 1]], [[3, 1, 2]])
    batch = repetition(5, 0)
    assert torch.equal(batch.inputs, batch.ids[:, :-1]) and torch.equal(batch.labels, batch.ids[:, 1:])
    assert batch.predictable.shape == batch.labels[0].shape


@pytest.mark.parametrize("maker", [copying, reversing])
def test_without_the_source_nothing_helps(maker):
    pairs = maker(20000, 0, length=3, n_symbols=5)
    _, labels = next_token_pairs(pairs.target)
    before, now = labels[:, 0], labels[:, 1]
    for symbol in range(1, 6):  # 4000 samples each: 5 σ of the largest of five shares
        assert majority_share(now[before == symbol]) == pytest.approx(pairs.chance, abs=0.032)
    assert (pairs.chance, pairs.ceiling) == (1 / 5, 1)


def bag_reader(block):
    """How many symbols of `block` are given right by who knows which are still to come, not in which order."""
    left, right = Counter(block), 0
    for symbol in block:
        most = max(left.values())
        right += symbol == max(s for s, count in left.items() if count == most)
        left[symbol] -= 1
    return right


@pytest.mark.parametrize(("length", "n_symbols"), [(10, 10), (1, 4), (6, 2)])
def test_a_reader_of_the_symbols_without_their_order_reaches_the_trivial_accuracy(length, n_symbols):
    pairs = reversing(2000, 0, length=length, n_symbols=n_symbols)
    right = sum(bag_reader(row) for row in pairs.target[:, 1:].tolist())
    assert right / (2000 * length) == pytest.approx(pairs.trivial, abs=0.02)
    assert pairs.chance < pairs.trivial <= pairs.ceiling
    batch = repetition(2000, 0, block=length, n_symbols=n_symbols)
    again = sum(bag_reader(row) for row in batch.labels[:, length:].tolist()) / (4000 * length)
    first = (batch.labels[:, :length] == 1).double().mean().item() / 2
    assert again + first == pytest.approx(batch.trivial, abs=0.02)
    assert batch.chance < batch.trivial <= batch.ceiling


def test_the_last_of_two_symbols_is_certain_and_the_first_even_when_they_are_equal():
    # Of two symbols out of four: equal in 1 case of 4, and then both are known; else the first is right half the time.
    assert copying(1, 0, length=2, n_symbols=4).trivial == pytest.approx((1 / 4 + 3 / 4 / 2 + 1) / 2)
    assert copying(1, 0, length=0, n_symbols=4).trivial == 1 / 4


def test_the_best_reader_of_a_repetition_reaches_ceiling_and_floor():
    batch = repetition(20000, 0, block=4, n_symbols=5)
    copied = F.pad(batch.inputs, (3, 0))[:, :8]  # one block before the label, so three places before the input
    guess = torch.where(batch.predictable, copied, torch.ones_like(copied))
    right = (guess == batch.labels).double()
    assert right[:, batch.predictable].mean() == 1
    assert right[:, ~batch.predictable].mean().item() == pytest.approx(batch.chance, abs=0.008)  # 5 σ
    assert right.mean().item() == pytest.approx(batch.ceiling, abs=0.004)
    assert batch.ceiling == pytest.approx((1 + 1 / 5) / 2)
    assert batch.floor == pytest.approx(math.log(5) / 2)
    assert unigram_entropy(batch.labels[:, ~batch.predictable]) == pytest.approx(math.log(5), abs=1e-3)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_seed_makes_the_same_data_and_a_generator_the_next(maker):
    state = torch.random.get_rng_state()
    first, again, other = everything(maker(8, 3)), everything(maker(8, 3)), everything(maker(8, 4))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first[0], other[0])
    generator = torch.Generator().manual_seed(3)
    one, two = everything(maker(8, generator)), everything(maker(8, generator))
    assert torch.equal(one[0], first[0]) and not torch.equal(one[0], two[0])
    assert torch.equal(torch.random.get_rng_state(), state)


def test_no_samples_are_an_empty_batch():
    assert copying(0, 0).source.shape == (0, 10)
    assert reversing(0, 0).target.shape == (0, 11)
    assert repetition(0, 0).labels.shape == (0, 20)
    assert repetition(0, 0).ceiling == repetition(5, 0).ceiling
    assert copying(3, 0, length=0).target.tolist() == [[0]] * 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: copying(-1, 0), ValueError, "n_samples must be at least 0, got -1"),
        (lambda: reversing(1, 0, length=-1), ValueError, "length must be at least 0, got -1"),
        (lambda: repetition(1, 0, block=0), ValueError, "block must be at least 1, got 0"),
        (lambda: copying(1, 0, n_symbols=1), ValueError, "n_symbols must be at least 2, got 1"),
        (lambda: copying(1, 0, n_symbols=2.0), TypeError, "n_symbols must be a whole number, got 2.0"),
        (lambda: repetition(1, "0"), TypeError, "seed must be a whole number or a torch.Generator, got '0'"),
    ],
)
def test_a_sequence_that_cannot_be_made_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
