"""How far `examine` is from its own thresholds, on models that they were not set on.

    python -m benchmarks.margins

Each healthy model of `zoo` is looked at as it starts, after a quarter of its steps of Adam and after all of them; the
sick ones are `PATIENTS` and the same faults in `nn.TransformerEncoder`, in other sizes. Prints, for each threshold, the
healthy model that comes nearest to it and the sick one that does. The exit status is 1 if a healthy model raises an
alarm or a sick one none.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import nn

from benchmarks.zoo import HEALTHY, Loss, in_torch
from transformer_anatomy import PATIENTS
from transformer_anatomy.instruments.health import thresholds as at
from transformer_anatomy.instruments.health.diagnosis import diagnose
from transformer_anatomy.instruments.health.look import Look, looked
from transformer_anatomy.instruments.health.signals import layer_ratio, matrix_shares, total_growth
from transformer_anatomy.lab.patients import scale_weights

RATE, WARMUP = 1e-3, 100
ABOVE = {  # the sick are above these, below the others
    "EXPLODING_STREAM_GROWTH", "EXPLODING_LAYER_RATIO", "SATURATED_SPREAD", "COPYING_SPREAD", "DEAD_SHARE",
    "REPLACING_UPDATE", "UNLIKE_THE_OTHERS",
}  # fmt: skip
FAULT_OF = {
    "exploding": ["EXPLODING_STREAM_GROWTH", "EXPLODING_LAYER_RATIO"],
    "vanishing": ["VANISHING_LAYER_RATIO", "VANISHING_MATRIX_RATIO"],
    "collapsed": ["COLLAPSED_DISTANCE"],
    "saturated": ["SATURATED_ENTROPY", "SATURATED_SPREAD", "WORKING_CHOICES"],
    "dead": ["DEAD_SHARE"],
    "update-too-large": ["REPLACING_UPDATE", "UNLIKE_THE_OTHERS"],
}


def measured(look: Look) -> Iterator[tuple[str, float]]:
    """What is compared with each threshold."""
    for stack, figures in zip(look.stacks, look.figures, strict=True):
        if not any(layer.path in look.seen.normed for layer in figures):
            yield "EXPLODING_STREAM_GROWTH", total_growth(figures)
        if (ratio := layer_ratio(figures)) is not None:
            yield from (("EXPLODING_LAYER_RATIO", ratio), ("VANISHING_LAYER_RATIO", ratio))
        yield from (("VANISHING_MATRIX_RATIO", share) for share in matrix_shares(stack, figures, look.seen).values())
        yield from (("COLLAPSED_DISTANCE", 1 - f.similarity) for f in figures if f.similarity is not None)
        yield from (("DEAD_SHARE", f.dead) for f in figures if f.dead is not None)
        first = next((f for f in figures if f.entropy is not None), None)
        for path, map_ in look.seen.maps.items() if first else ():
            if path.startswith(f"{first.path}."):
                yield "SATURATED_ENTROPY", map_.entropy
                if map_.spread == map_.spread:
                    yield "SATURATED_SPREAD", map_.spread
    for path, map_ in look.seen.maps.items():
        worth = look.seen.worth(path)
        if worth is not None and map_.entropy < at.SATURATED_ENTROPY and map_.spread > at.SATURATED_SPREAD:
            yield "WORKING_CHOICES", worth
    ratios = sorted(update.ratio for path, update in look.updates.items() if path.endswith("weight"))
    if ratios:
        yield from (("REPLACING_UPDATE", ratios[-1]), ("UNLIKE_THE_OTHERS", ratios[-1] / ratios[len(ratios) // 2]))


def train(model: nn.Module, loss: Loss, optimizer: torch.optim.Optimizer, first: int, last: int) -> None:
    """Steps with a linear warm-up, without which deep post-norm models do not learn, and rightly raise an alarm."""
    for step in range(first, last):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARMUP)
        optimizer.zero_grad()
        loss(model).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def healthy(n_steps: int) -> Iterator[tuple[str, Look]]:
    for name, make in HEALTHY.items():
        model, loss = make()
        optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
        first = 0
        for last in sorted({0, n_steps // 4, n_steps}):
            train(model, loss, optimizer, first, last)
            first = last
            with looked(model, loss, [optimizer]) as look:
                yield f"{name}, step {last}", look


def sick() -> Iterator[tuple[str, str, Look]]:
    for d, heads in ((48, 3), (160, 5), (96, 12)):
        for name, patient in PATIENTS.items():
            case = patient.make(d_model=d, n_heads=heads)
            with looked(case.model, case.loss, [case.optimizer] if case.optimizer else []) as look:
                yield f"{name}, {d}/{heads}", patient.fault, look
    for factor, fault in ((10, "exploding"), (0.01, "vanishing")):
        model, loss = in_torch(96, 6, 5, 30, norm_first=True)
        with looked(scale_weights(model, factor), loss, []) as look:
            yield f"nn.TransformerEncoder, weights × {factor}", fault, look


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150, help="how long healthy models are trained")
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    wrong = 0
    best: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)

    def note(kind: str, name: str, look: Look, faults: list[str]) -> None:
        extremes: dict[str, float] = {}
        for threshold, value in measured(look):
            worse = max if threshold in ABOVE or (threshold, kind) == ("WORKING_CHOICES", "sick") else min
            extremes[threshold] = worse(extremes.get(threshold, value), value)
        for threshold, value in extremes.items():
            above, line = threshold in ABOVE, getattr(at, threshold)
            if kind == "healthy" or (threshold in faults and (value >= line if above else value <= line)):
                nearest = max if above == (kind == "healthy") else min
                best[threshold][kind] = nearest(best[threshold].get(kind, (value, name)), (value, name))

    for name, look in healthy(options.steps):
        alarms = [f"{f.fault} at {f.where}: {f.evidence}" for f in diagnose(look)]
        wrong += bool(alarms)
        print(f"{name}, loss {look.loss:.3g}: {'; '.join(alarms) or 'healthy'}", flush=True)
        note("healthy", name, look, [])
    for name, fault, look in sick():
        faults = [f.fault for f in diagnose(look)]
        wrong += fault not in faults[:1]
        print(f"{name}: {', '.join(faults) or 'MISSED'}", flush=True)
        note("sick", name, look, FAULT_OF.get(fault, []))
    for threshold, nearest in best.items():
        print(f"{threshold} = {getattr(at, threshold)}")
        for kind, (value, name) in nearest.items():
            print(f"    nearest {kind}: {value:.3g} ({name})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
