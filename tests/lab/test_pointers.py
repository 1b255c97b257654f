import pytest
import torch

from transformer_anatomy import majority_share, pointer_chasing


def follow(puzzle, n):
    """What a reader finds who follows the pointers one by one."""
    hops, pointers = puzzle[0] - n + 1, puzzle[1:]
    found = []
    for place in range(n):
        for _ in range(hops):
            place = pointers[place]
        found.append(place)
    return found


@pytest.mark.parametrize(("n", "max_hops"), [(12, 6), (2, 1), (5, 4)])
def test_a_target_lies_as_many_hops_away_as_the_first_token_says(n, max_hops):
    batch = pointer_chasing(100, 0, n=n, max_hops=max_hops)
    assert batch.ids.shape == batch.targets.shape == (100, 1 + n)
    assert [follow(puzzle, n) for puzzle in batch.ids.tolist()] == batch.targets[:, 1:].tolist()
    assert torch.equal(batch.ids[:, 0], n - 1 + batch.hops)
    assert batch.targets[:, 0].unique().tolist() == [-100]


def test_the_pointers_make_one_cycle_through_all_places():
    for puzzle in pointer_chasing(100, 0).ids[:, 1:].tolist():
        walk = [0]
        while len(walk) < 12:
            walk.append(puzzle[walk[-1]])
        assert sorted(walk) == list(range(12)) and puzzle[walk[-1]] == 0


def test_every_number_of_hops_is_equally_likely_and_every_id_is_in_the_vocabulary():
    batch = pointer_chasing(6000, 0)
    counts = torch.bincount(batch.hops, minlength=7)
    assert counts[0] == 0
    assert (counts[1:] - 1000).abs().max() < 5 * 29  # five standard deviations of a count
    assert batch.ids.unique().tolist() == list(range(batch.vocab_size))


def test_chance_is_what_guessing_without_the_pointers_reaches():
    batch = pointer_chasing(20000, 0)
    assert batch.chance == 1 / 11
    at_one_place = batch.targets[:, 5]
    assert majority_share(at_one_place) == pytest.approx(batch.chance, abs=0.01)  # 5 σ, the largest of eleven
    assert (at_one_place != 4).all()


@pytest.mark.parametrize(("n", "max_hops"), [(12, 6), (5, 4), (3, 2), (2, 1)])
def test_the_trivial_reader_copies_at_one_hop_and_guesses_at_more(n, max_hops):
    batch = pointer_chasing(5000, 0, n=n, max_hops=max_hops)
    right = []
    for puzzle, targets in zip(batch.ids.tolist(), batch.targets.tolist(), strict=True):
        hops, place = puzzle[0] - n + 1, 0
        pointer = puzzle[1 + place]  # all that it looks at
        others = [other for other in range(n) if other not in (place, pointer)]
        right.append((pointer if hops == 1 else others[0]) == targets[1 + place])
    assert sum(right) / 5000 == pytest.approx(batch.trivial, abs=0.035)  # 5 σ of 5000
    copied = (batch.ids == batch.targets)[:, 1:].double().mean().item()
    assert copied == pytest.approx(1 / max_hops, abs=0.035)
    assert batch.chance <= copied <= batch.trivial + 0.035


def test_a_reader_of_the_near_places_guesses_among_the_others():
    batch = pointer_chasing(2000, 0)
    pointers = batch.ids[:, 1:]
    near = [pointers, pointers.gather(1, pointers)]
    near += [hop.argsort(dim=1) for hop in near]  # of a permutation that is the inverse: the same hops backwards
    far = batch.hops >= 3
    assert all((step != batch.targets[:, 1:])[far].all() for step in near)
    assert batch.chance_within(2) == 1 / (11 - len(near))
    assert batch.ceiling == 1


def test_a_seed_makes_the_same_puzzles_and_a_generator_the_next_ones():
    state = torch.random.get_rng_state()
    first, again, other = pointer_chasing(8, 3), pointer_chasing(8, 3), pointer_chasing(8, 4)
    assert torch.equal(first.ids, again.ids) and torch.equal(first.targets, again.targets)
    assert not torch.equal(first.ids, other.ids)
    generator = torch.Generator().manual_seed(3)
    one, two = pointer_chasing(8, generator), pointer_chasing(8, generator)
    assert torch.equal(one.ids, first.ids) and not torch.equal(one.ids, two.ids)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_no_puzzles_are_an_empty_batch():
    batch = pointer_chasing(0, 0)
    assert batch.ids.shape == batch.targets.shape == (0, 13)
    assert batch.hops.shape == (0,)
    assert batch.chance == 1 / 11


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pointer_chasing(-1, 0), ValueError, "n_samples must be at least 0, got -1"),
        (lambda: pointer_chasing(2.5, 0), TypeError, "n_samples must be a whole number, got 2.5"),
        (lambda: pointer_chasing(True, 0), TypeError, "n_samples must be a whole number, got True"),
        (lambda: pointer_chasing(1, 0, n=1), ValueError, "n must be at least 2, got 1"),
        (lambda: pointer_chasing(1, 0, max_hops=0), ValueError, "max_hops must be at least 1, got 0"),
        (lambda: pointer_chasing(1, 0, n=6), ValueError, "max_hops must be below n = 6, .*got 6"),
        (lambda: pointer_chasing(1, None), TypeError, "seed must be a whole number or a torch.Generator, got None"),
        (lambda: pointer_chasing(1, 0.5), TypeError, "seed must be a whole number.*0.5"),
        (lambda: pointer_chasing(1, -1), ValueError, "seed must lie between 0 and .*got -1"),
        (lambda: pointer_chasing(1, 0).chance_within(6), ValueError, "reach must leave a place.*n = 12, got 6"),
    ],
)
def test_a_puzzle_that_cannot_be_made_is_refused_by_name(unchecked, call, error, message):
    with pytest.raises(error, match=message):
        call()
