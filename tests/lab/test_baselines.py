import math

import pytest
import torch

from transformer_anatomy import majority_share, unigram_entropy


def test_the_majority_is_counted_where_something_is_asked():
    assert majority_share(torch.tensor([[1, 1, 2], [-100, -100, -100]])) == pytest.approx(2 / 3)
    assert majority_share(torch.tensor([7])) == 1


def test_a_clue_gives_away_the_target_that_is_most_frequent_with_it():
    targets, clue = torch.tensor([[0, 0, 1], [1, 1, -100]]), torch.tensor([[7, 7, 7], [8, 8, 9]])
    assert majority_share(targets) == 3 / 5
    assert majority_share(targets, clue) == 4 / 5
    assert majority_share(targets, torch.zeros_like(targets)) == majority_share(targets)


def test_a_clue_for_other_targets_is_refused(unchecked):
    with pytest.raises(ValueError, match=r"clue must have the shape of targets, \(4,\), got \(3,\)"):
        majority_share(torch.zeros(4, dtype=torch.long), torch.zeros(3, dtype=torch.long))


def test_entropy_is_the_loss_of_giving_frequencies():
    assert unigram_entropy(torch.tensor([0, 1, -100, 2, 3])) == pytest.approx(math.log(4))
    assert unigram_entropy(torch.tensor([0, 0, 1, 2])) == pytest.approx(1.5 * math.log(2))
    certain = unigram_entropy(torch.tensor([5, 5]))
    assert certain == 0 and math.copysign(1, certain) == 1


@pytest.mark.parametrize("baseline", [majority_share, unigram_entropy])
@pytest.mark.parametrize("targets", [[], [-100, -100]])
def test_nothing_asked_has_no_baseline(baseline, targets):
    with pytest.raises(ValueError, match=r"targets must hold at least one that is not -100"):
        baseline(torch.tensor(targets, dtype=torch.long))
