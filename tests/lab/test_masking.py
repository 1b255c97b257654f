import pytest
import torch

from transformer_anatomy import VOCABULARY, batch_discourses, make_discourses, mask_tokens

MASK = VOCABULARY.index("[MASK]")
IDS = batch_discourses(make_discourses(2000, 0)).ids
WORDS = IDS > MASK


def test_targets_are_the_hidden_words_and_everything_else_stays():
    inputs, targets = mask_tokens(IDS, 0)
    asked = targets != -100
    assert torch.equal(targets[asked], IDS[asked])
    assert torch.equal(inputs[~asked], IDS[~asked])


def test_a_fifth_is_chosen_and_of_it_80_percent_are_hidden_10_replaced_and_10_kept():
    inputs, targets = mask_tokens(IDS, 0)
    asked = targets != -100
    assert asked.sum() / WORDS.sum() == pytest.approx(0.2, abs=0.01)  # 5 σ of 46 000 words
    hidden, kept = inputs[asked] == MASK, inputs[asked] == IDS[asked]
    assert hidden.double().mean().item() == pytest.approx(0.8, abs=0.02)  # 5 σ of 9 000
    assert kept.double().mean().item() == pytest.approx(0.1 + 0.1 / 107, abs=0.016)
    replaced = inputs[asked][~hidden & ~kept]
    assert replaced.unique().tolist() == list(range(MASK + 1, len(VOCABULARY)))


def test_special_tokens_are_never_chosen():
    _, targets = mask_tokens(IDS, 0, share=1.0)
    assert torch.equal(targets != -100, WORDS)
    inputs, targets = mask_tokens(IDS, 0, share=0.0)
    assert torch.equal(inputs, IDS) and (targets == -100).all()


def test_a_seed_hides_the_same_words_and_a_generator_goes_on():
    state = torch.random.get_rng_state()
    before = IDS.clone()
    one, again, other = mask_tokens(IDS, 3), mask_tokens(IDS, 3), mask_tokens(IDS, 4)
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[1], other[1])
    generator = torch.Generator().manual_seed(3)
    first, second = mask_tokens(IDS, generator), mask_tokens(IDS, generator)
    assert torch.equal(first[1], one[1]) and not torch.equal(first[1], second[1])
    assert torch.equal(IDS, before) and torch.equal(torch.random.get_rng_state(), state)


def test_nothing_to_hide_gives_nothing():
    inputs, targets = mask_tokens(torch.empty(0, 0, dtype=torch.long), 0)
    assert inputs.shape == targets.shape == (0, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mask_tokens(IDS, 0, share=1.5), ValueError, "share must lie between 0 and 1, got 1.5"),
        (lambda: mask_tokens(IDS, 0, share=float("nan")), ValueError, "share must lie between 0 and 1, got nan"),
        (lambda: mask_tokens(IDS + 100, 0), ValueError, "ids must lie between 0 and 110, got 100 to"),
        (lambda: mask_tokens(IDS - 1, 0), ValueError, "ids must lie between 0 and 110, got -1 to"),
        (lambda: mask_tokens(IDS.float(), 0), TypeError, "ids must be whole numbers, got torch.float32"),
        (lambda: mask_tokens(IDS, 1.5), TypeError, "seed must be a whole number or a torch.Generator, got 1.5"),
    ],
)
def test_what_cannot_be_masked_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
