"""What can be read off the states of each layer by a linear map, beside what the map alone would find."""

import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from transformer_anatomy.model.arguments import check_positive, check_size

States = Float[Tensor, "layer example d_model"]
Labels = Int[Tensor, " example"]


def probe_layers(
    states: States,
    labels: Labels,
    test: Bool[Tensor, " example"],
    *,
    untrained: States,
    words: Int[Tensor, " example"],
    l2: float = 1e-3,
    seed: int = 0,
    n_controls: int = 1,
) -> pd.DataFrame:
    """Accuracy of a linear probe on each layer, on the examples where `test` is True, learned on the others.

    | column | what it is |
    |---|---|
    | `layer` | from 0, as in `states` |
    | `accuracy` | of multinomial logistic regression on that layer's states |
    | `majority` | of always giving the label that is most frequent in training |
    | `untrained` | of the same probe on the states of the same network before training |
    | `control` | of the same probe on labels drawn at random for each word, which only a memory of words can give |
    | `selectivity` | `accuracy - control`: what the probe owes to the states (Hewitt and Liang 2019) |

    One draw of control labels is a matter of luck: with `n_controls` of them, from the seeds `seed`, `seed + 1`, ...,
    `control` is their mean and the further column `control_std` their standard deviation.

    An example is a token: `words` says which one, `labels` from 0 what is asked of it. Split by sentence, not by token:
    neighbours in one sentence know of each other. Raises `ValueError` for shapes that do not belong together, negative
    labels, states that are not finite and a split that leaves one side empty.
    """
    _check(states, labels, test, l2, untrained=untrained, words=words)
    check_size("n_controls", n_controls)
    majority = labels[~test].mode().values
    draws = [control_labels(labels, words, seed=seed + i) for i in range(n_controls)]
    controls = torch.tensor([linear_probe(states, drawn, test, l2=l2) for drawn in draws], dtype=torch.float64)
    table = pd.DataFrame(
        {
            "layer": range(len(states)),
            "accuracy": linear_probe(states, labels, test, l2=l2),
            "majority": (labels[test] == majority).double().mean().item(),
            "untrained": linear_probe(untrained, labels, test, l2=l2),
            "control": controls.mean(dim=0).tolist(),
        }
    )
    table = table.assign(selectivity=table.accuracy - table.control)
    return table if n_controls == 1 else table.assign(control_std=controls.std(dim=0).tolist())


def linear_probe(states: States, labels: Labels, test: Bool[Tensor, " example"], *, l2: float = 1e-3) -> list[float]:
    """Test accuracy of multinomial logistic regression, layer by layer, on states standardised as in training.

    It minimises mean cross-entropy + l2/2·‖weights‖², in float64, to convergence; two classes share one weight vector.
    Raises as `probe_layers` does.
    """
    _check(states, labels, test, l2)
    test, targets = test.cpu().numpy(), labels.cpu().numpy()
    if len(set(targets[~test])) == 1:  # nothing to learn, which LogisticRegression refuses
        return [float((targets[test] == targets[~test][0]).mean())] * len(states)
    accuracies = []
    for layer in states.detach().double().cpu().numpy():
        regression = LogisticRegression(C=1 / (l2 * (~test).sum()), tol=1e-6, max_iter=10_000)
        probe = make_pipeline(StandardScaler(), regression).fit(layer[~test], targets[~test])
        accuracies.append(float(probe.score(layer[test], targets[test])))
    return accuracies


def control_labels(labels: Labels, words: Int[Tensor, " example"], *, seed: int = 0) -> Labels:
    """A random label for each word, drawn as often as `labels` has it: a task that only memory of words can solve.

    `labels` and `words` are `(example,)`, and so is the result; each `seed` is another draw. With few words a probe
    learns any of them by heart, and what it then lacks in selectivity says nothing about the states (Hewitt and Liang
    2019, section 2). Raises `ValueError` unless there is one word for each of at least one label.
    """
    if labels.shape != words.shape or labels.dim() != 1 or not len(labels):
        raise ValueError(
            f"words must have one entry for each of at least one label, "
            f"got {tuple(words.shape)} for labels of {tuple(labels.shape)}"
        )
    generator = torch.Generator().manual_seed(seed)
    kinds, index = words.unique(return_inverse=True)
    drawn = torch.randint(len(labels), (len(kinds),), generator=generator).to(labels.device)
    return labels[drawn][index]


def _check(states: Tensor, labels: Tensor, test: Tensor, l2: float, **others: Tensor) -> None:
    check_positive("l2", l2)
    if states.dim() != 3 or not len(states):
        raise ValueError(f"states must be (layer, example, d_model), got {tuple(states.shape)}")
    n = states.shape[1]
    for name, tensor in {"labels": labels, "test": test, **others}.items():
        if name != "untrained" and tuple(tensor.shape) != (n,):
            raise ValueError(f"{name} must have one entry for each of the {n} examples, got {tuple(tensor.shape)}")
    if test.dtype != torch.bool:
        raise TypeError(f"test must be boolean (True: an example to test on), got {test.dtype}")
    untrained = others.get("untrained", states)
    if untrained.shape != states.shape:
        raise ValueError(
            f"untrained must have the shape of states, {tuple(states.shape)}, got {tuple(untrained.shape)}"
        )
    for name, tensor in (("states", states), ("untrained", untrained)):
        broken = [layer for layer, x in enumerate(tensor) if not x.isfinite().all()]
        if broken:
            raise ValueError(f"{name} must be finite, layer {broken[0]} holds NaN or infinity")
    if not 0 < test.sum() < n:
        raise ValueError(f"test must leave examples on both sides, it chooses {int(test.sum())} of {n}")
    if labels.min() < 0:
        raise ValueError(f"labels must be at least 0, got {int(labels.min())}: leave out what has no label")
