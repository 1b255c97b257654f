import statistics

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer_anatomy import control_labels, linear_probe, probe_layers

N, TRAINED = 300, 200
TEST = torch.arange(N) >= TRAINED


def reference(x: Tensor, labels: Tensor, l2: float) -> float:
    """Multinomial logistic regression once more, written down and minimised by PyTorch in one layer."""
    kinds, targets = labels[~TEST].unique(return_inverse=True)
    mean, std = x[~TEST].mean(dim=0), x[~TEST].std(dim=0, correction=0)
    x = (x - mean) / torch.where(std > 0, std, 1.0)
    n_vectors = len(kinds) if len(kinds) > 2 else 1  # of two classes, one has the score 0
    weights = torch.zeros(x.shape[1], n_vectors, dtype=torch.float64, requires_grad=True)
    biases = torch.zeros(n_vectors, dtype=torch.float64, requires_grad=True)
    strict = {"max_iter": 2000, "tolerance_grad": 1e-9, "tolerance_change": 0, "line_search_fn": "strong_wolfe"}
    optimizer = torch.optim.LBFGS([weights, biases], **strict)

    def scores(x):
        return F.pad(x @ weights + biases, (len(kinds) - n_vectors, 0))

    def closure():
        optimizer.zero_grad()
        value = F.cross_entropy(scores(x[~TEST]), targets) + l2 / 2 * weights.square().sum()
        value.backward()
        return value

    optimizer.step(closure)
    guesses = kinds[scores(x[TEST]).argmax(dim=1)]
    return (guesses == labels[TEST]).double().mean().item()


def states_of(labels: Tensor, width: int = 12, strength: float = 0.6) -> Tensor:
    """Noise that tells the labels from each other, a little."""
    directions = torch.randn(int(labels.max()) + 1, width, dtype=torch.float64)
    return torch.randn(len(labels), width, dtype=torch.float64) + strength * directions[labels]


CASES = {
    "two classes": lambda x, labels: (x, labels % 2),
    "five classes": lambda x, labels: (x, labels),
    "labels that are not 0 to 4": lambda x, labels: (x, torch.tensor([3, 7, 40, 41, 1000])[labels]),
    "a class that training lacks": lambda x, labels: (x, torch.where((labels == 4) & ~TEST, 3, labels)),
    "features that depend on each other": lambda x, labels: (torch.cat([x, x, x @ torch.ones_like(x).T], 1), labels),
    "features that are constant": lambda x, labels: (torch.cat([x, torch.full_like(x, 3.0)], dim=1), labels),
    "features of other sizes": lambda x, labels: (x * 10.0 ** torch.arange(-6, 6) + 5, labels),
    "fewer examples than features": lambda x, labels: (x @ torch.randn(12, 250, dtype=torch.float64), labels),
    "two classes that a plane separates": lambda x, labels: (x + 9 * (labels % 2)[:, None], labels % 2),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_probe_is_multinomial_logistic_regression(case):
    labels = torch.randint(5, (N,))
    x, labels = case(states_of(labels), labels)
    for l2 in (1e-3, 1e-1):
        assert linear_probe(x[None], labels, TEST, l2=l2) == [pytest.approx(reference(x, labels, l2))]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_states_of_any_width_of_number_are_probed(dtype):
    labels = torch.randint(3, (N,))
    x = states_of(labels).to(dtype).requires_grad_()
    assert linear_probe(x[None], labels, TEST) == [pytest.approx(reference(x.detach().double(), labels, 1e-3))]


def test_each_layer_has_a_probe_of_its_own():
    labels = torch.randint(4, (N,))
    layers = torch.stack([states_of(labels, strength=strength) for strength in (0, 0.3, 3)])
    accuracies = linear_probe(layers, labels, TEST)
    assert accuracies == [linear_probe(layer[None], labels, TEST)[0] for layer in layers]
    assert accuracies[0] < 0.4 and accuracies[2] == 1


def test_where_training_knows_a_single_class_the_probe_always_says_it():
    labels = torch.where(TEST & (torch.arange(N) % 4 == 0), 1, 0)
    assert linear_probe(torch.randn(2, N, 3), labels, TEST) == [0.75, 0.75]


class TestControls:
    words = torch.randint(40, (N,), generator=torch.Generator().manual_seed(1))

    def test_a_control_gives_each_word_one_label_and_labels_as_often_as_they_come(self):
        labels = (torch.arange(N) % 10 == 0).long()
        words = torch.arange(N) // 2
        shares = []
        for seed in range(20):
            control = control_labels(labels, words, seed=seed)
            assert torch.equal(control[::2], control[1::2])
            shares.append(control.double().mean().item())
        assert sum(shares) / 20 == pytest.approx(0.1, abs=0.02)  # 3000 draws: 0.0055
        assert len(set(shares)) > 5
        assert torch.equal(control, control_labels(labels, words, seed=seed))

    def test_several_controls_are_averaged_and_their_spread_is_shown(self):
        labels = torch.randint(3, (N,))
        states = torch.stack([states_of(labels), states_of(labels)])
        given = {"untrained": states, "words": self.words, "seed": 4}
        single = [probe_layers(states, labels, TEST, **{**given, "seed": seed}).control for seed in (4, 5, 6)]
        table = probe_layers(states, labels, TEST, **given, n_controls=3)
        for layer in range(2):
            draws = [control[layer] for control in single]
            assert table.control[layer] == pytest.approx(statistics.mean(draws))
            assert table.control_std[layer] == pytest.approx(statistics.stdev(draws)) != 0
        assert table.selectivity.tolist() == (table.accuracy - table.control).tolist()

    def test_states_that_only_say_the_word_solve_the_control_as_well_as_the_task(self):
        labels = torch.randint(3, (40,))[self.words]
        table = self.probe(F.one_hot(self.words).double(), labels)
        assert table.accuracy.item() > 0.95
        assert abs(table.selectivity.item()) < 0.06

    def test_words_that_training_never_saw_cannot_be_remembered(self):
        labels, unseen = torch.randint(3, (N,)), torch.where(TEST, self.words + 40, self.words)
        states = F.one_hot(unseen, 80).double()
        control = control_labels(labels, unseen)
        majority = (control[TEST] == control[~TEST].mode().values).double().mean().item()
        assert linear_probe(states[None], control, TEST)[0] == pytest.approx(majority, abs=0.01)

    def test_states_that_only_say_the_label_do_not_solve_the_control(self):
        labels = torch.randint(3, (N,))
        table = self.probe(states_of(labels, strength=4), labels)
        assert table.accuracy.item() > 0.95
        assert table.control.item() < 0.6
        assert table.selectivity.item() == table.accuracy.item() - table.control.item()

    def test_the_majority_is_that_of_training(self):
        labels = torch.where(TEST, torch.arange(N) % 4 // 3, torch.arange(N) % 4 % 2 * 2)
        labels[0] = 0  # 0 is most frequent in training, by one, and makes three quarters of the test
        assert self.probe(torch.randn(N, 3), labels).majority.item() == 0.75

    def test_the_untrained_network_is_probed_in_the_same_way(self):
        labels = torch.randint(3, (N,))
        states, untrained = torch.stack([states_of(labels), states_of(labels)]), torch.randn(2, N, 12).double()
        table = probe_layers(states, labels, TEST, untrained=untrained, words=self.words)
        columns = ["layer", "accuracy", "majority", "untrained", "control", "selectivity"]
        assert (list(table), table.layer.tolist()) == (columns, [0, 1])
        assert table.untrained.tolist() == linear_probe(untrained, labels, TEST)
        assert table.accuracy.tolist() == linear_probe(states, labels, TEST)

    def probe(self, states, labels):
        return probe_layers(states[None], labels, TEST, untrained=states[None], words=self.words)


@pytest.mark.parametrize("shapes", [(3, 2), (0, 0)])
def test_a_control_of_words_without_labels_is_refused(unchecked, shapes):
    labels, words = (torch.zeros(n, dtype=torch.long) for n in shapes)
    with pytest.raises(ValueError, match="words must have one entry for each of at least one label"):
        control_labels(labels, words)


def test_a_split_of_numbers_is_refused_because_not_would_count_from_the_end(unchecked):
    with pytest.raises(TypeError, match="test must be boolean"):
        linear_probe(torch.randn(1, 4, 2), torch.tensor([0, 1, 0, 1]), torch.tensor([0, 1, 0, 1], dtype=torch.uint8))
