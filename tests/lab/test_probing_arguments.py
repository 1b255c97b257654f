import pytest
import torch

from transformer_anatomy import probe_layers

N = 300
TEST = torch.arange(N) >= 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": torch.zeros(N - 1, dtype=torch.long)}, r"labels must have one entry for each of the 300 examples"),
        ({"test": torch.ones(2, N, dtype=torch.bool)}, r"test must have one entry .*, got \(2, 300\)"),
        ({"words": torch.zeros(5, dtype=torch.long)}, r"words must have one entry .*, got \(5,\)"),
        (
            {"untrained": torch.zeros(1, N, 3)},
            r"untrained must have the shape of states, \(2, 300, 3\), got \(1, 300, 3\)",
        ),
        ({"states": torch.zeros(N, 3)}, r"states must be \(layer, example, d_model\), got \(300, 3\)"),
        ({"states": torch.zeros(2, N, 3).index_fill(0, torch.tensor(1), torch.nan)}, "states must be finite, layer 1"),
        ({"test": torch.zeros(N, dtype=torch.bool)}, "leave examples on both sides, it chooses 0 of 300"),
        ({"test": torch.ones(N, dtype=torch.bool)}, "leave examples on both sides, it chooses 300 of 300"),
        ({"labels": torch.arange(N) - 100}, "labels must be at least 0, got -100: leave out what has no label"),
        ({"n_controls": 0}, "n_controls must be a whole number of at least 1, got 0"),
        ({"l2": 0}, "l2 must be a finite number above 0, got 0"),
    ],
)
def test_what_cannot_be_probed_is_refused_by_name(unchecked, change, message):
    whole = torch.zeros(N, dtype=torch.long)
    given = {"states": torch.zeros(2, N, 3), "labels": whole, "test": TEST, "untrained": torch.zeros(2, N, 3)}
    with pytest.raises(ValueError, match=message):
        probe_layers(**{**given, "words": whole, **change})
