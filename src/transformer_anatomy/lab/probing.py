"""What can be read off the states of each layer by a linear map, beside what the map alone would find."""

import pandas as pd
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transformer_anatomy.model.arguments import check_positive

States = Float[Tensor, "layer example d_model"]
Labels = Int[Tensor, " example"]


def probe_layers(
    states: States,
    labels: Labels,
    test: Bool[Tensor, " example"],
    *,
    untrained: States | None = None,
    words: Int[Tensor, " example"] | None = None,
    l2: float = 1e-3,
    seed: int = 0,
) -> pd.DataFrame:
    """Accuracy of a linear probe on each layer, on the examples where `test` is True, learned on the others.

    | column | what it is |
    |---|---|
    | `layer` | from 0, as in `states` |
    | `accuracy` | of multinomial logistic regression on that layer's states |
    | `majority` | of always giving the label that is most frequent in training |
    | `untrained` | of the same probe on the states of the same network before training, if given |
    | `control`, `selectivity` | of the same probe on labels drawn at random for each of `words`, and the difference: |
    | | what the probe owes to the states and not to its own memory (Hewitt and Liang 2019) |

    Split by sentence, not by token: neighbours in one sentence know of each other. Raises `ValueError` for shapes that
    do not belong together and for a split that leaves one side empty.
    """
    _check(states, labels, test, untrained, words, l2)
    majority = labels[~test].mode().values
    columns = {
        "layer": range(len(states)),
        "accuracy": linear_probe(states, labels, test, l2=l2),
        "majority": [(labels[test] == majority).double().mean().item()] * len(states),
    }
    if untrained is not None:
        columns["untrained"] = linear_probe(untrained, labels, test, l2=l2)
    if words is not None:
        control = control_labels(labels, words, seed=seed)
        columns["control"] = linear_probe(states, control, test, l2=l2)
    table = pd.DataFrame(columns)
    return table.assign(selectivity=table.accuracy - table.control) if words is not None else table


def linear_probe(states: States, labels: Labels, test: Bool[Tensor, " example"], *, l2: float = 1e-3) -> list[float]:
    """Test accuracy of multinomial logistic regression, layer by layer, on standardised states.

    It minimises mean cross-entropy + l2/2·‖weights‖², in float64, to convergence: what scikit-learn's
    `LogisticRegression(C=1 / (l2 · n))` finds, for all layers at once.
    """
    labels = labels.unique(return_inverse=True)[1]
    x = states.detach().double()
    mean, std = x[:, ~test].mean(dim=1, keepdim=True), x[:, ~test].std(dim=1, keepdim=True, correction=0)
    x = (x - mean) / std.clamp(min=1e-12)
    n_layers, _, d_model = x.shape
    n_labels = int(labels.max()) + 1
    weights = torch.zeros(n_layers, d_model, n_labels, dtype=torch.float64, device=x.device, requires_grad=True)
    biases = torch.zeros(n_layers, 1, n_labels, dtype=torch.float64, device=x.device, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weights, biases],
        max_iter=500,
        history_size=20,
        tolerance_grad=1e-6,
        tolerance_change=1e-12,
        line_search_fn="strong_wolfe",
    )
    train, targets = x[:, ~test], labels[~test].expand(n_layers, -1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = F.cross_entropy((train @ weights + biases).flatten(0, 1), targets.flatten(), reduction="sum")
        objective = losses / train.shape[1] + l2 / 2 * weights.square().sum()
        objective.backward()
        return objective

    with torch.enable_grad():
        optimizer.step(closure)
    with torch.no_grad():
        guesses = (x[:, test] @ weights + biases).argmax(dim=-1)
    return (guesses == labels[test]).double().mean(dim=-1).tolist()


def control_labels(labels: Labels, words: Int[Tensor, " example"], *, seed: int = 0) -> Labels:
    """A random label for each word, drawn as often as `labels` has it: a task that only memory of words can solve."""
    generator = torch.Generator().manual_seed(seed)
    kinds, index = words.unique(return_inverse=True)
    drawn = labels[torch.randint(len(labels), (len(kinds),), generator=generator)]
    return drawn[index]


def _check(states, labels, test, untrained, words, l2) -> None:
    check_positive("l2", l2)
    if states.dim() != 3:
        raise ValueError(f"states must be (layer, example, d_model), got {tuple(states.shape)}")
    n = states.shape[1]
    for name, tensor in (("labels", labels), ("test", test), ("words", words)):
        if tensor is not None and tuple(tensor.shape) != (n,):
            raise ValueError(f"{name} must have one entry for each of the {n} examples, got {tuple(tensor.shape)}")
    if untrained is not None and untrained.shape != states.shape:
        raise ValueError(
            f"untrained must have the shape of states, {tuple(states.shape)}, got {tuple(untrained.shape)}"
        )
    if not 0 < test.sum() < n:
        raise ValueError(f"test must leave examples on both sides, it chooses {int(test.sum())} of {n}")
