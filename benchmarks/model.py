"""How fast the model is beside other code that computes the same: ratios of times, all from one run.

    python -m benchmarks.model                      # status 1 when a ratio is above its target
    python -m benchmarks.model --default-allocator  # free memory goes back to the system at once
    python -m benchmarks.model --record             # and keep the largest ratio of each pair in measured.json

Two contenders take turns and swap who goes first. Times are medians of the processor time of one thread, which other
programs on the machine disturb little; a ratio is the median over the turns, not that of the medians, because what
disturbs one disturbs the next. Sizes are batch, length and width. The fused path is what `nn.TransformerEncoder` takes
in evaluation without gradients.

The command starts itself anew with one thread and with glibc told to keep memory that is free. By default it may give
large blocks back, and the next pass maps them again page by page: with everything recorded that can take as long as
computing what is recorded. Both contenders run with the same setting.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch

from benchmarks.contenders import Pair, forward, forward_and_backward, lens_alone, lens_and_pytorch, minilm, recording
from benchmarks.record import record

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_MMAP_MAX_": "0"}
SIZES = [(8, 128, 256), (8, 128, 512), (2, 1024, 256)]
FEWEST_ROUNDS = 11
INSTALL = "pip install --constraint constraints.txt --requirement benchmarks/requirements.txt"


class Row(NamedTuple):
    """One line of the output: `what` against `against`; `pair` makes the two when their turn has come."""

    what: str
    against: str
    case: str
    at_most: float | None
    gradients: bool
    pair: Callable[[], Pair]


def rows() -> list[Row]:
    """What is measured, in the order of the output."""
    pytorch, fused, bert = "nn.TransformerEncoder", "nn.TransformerEncoder, fused", "Hugging Face's BertModel"
    both, lens = forward_and_backward, "TransformerLens 3.9, run_with_cache"
    return [
        *(Row("forward", pytorch, str(size), 1.05, True, partial(forward, size)) for size in SIZES),
        *(Row("forward and backward", pytorch, str(size), 1.05, True, partial(both, size)) for size in SIZES),
        *(Row("inference", fused, str(size), 1.15, False, partial(forward, size)) for size in SIZES),
        Row("forward, everything recorded", pytorch, str(SIZES[0]), 1.25, True, partial(recording, SIZES[0])),
        Row("inference, everything recorded", fused, str(SIZES[0]), 1.25, False, partial(recording, SIZES[0])),
        Row("inference of MiniLM", bert, "without padding", 1.0, False, partial(minilm, padded=False)),
        Row("inference of MiniLM", bert, "with padding", 1.0, False, partial(minilm, padded=True)),
        Row(lens, pytorch, str(SIZES[0]), None, True, partial(lens_and_pytorch, SIZES[0])),
        Row(lens, "its own forward", str(SIZES[0]), None, True, partial(lens_alone, SIZES[0])),
    ]


def alternate(pair: Pair, seconds: float) -> tuple[float, float, float]:
    """The median times of two functions, in seconds, and the median of their ratio, from rounds in which both run.

    There are rounds until they have taken `seconds` of processor time altogether.
    """
    for function in pair:
        function()
    times = [], []
    while len(times[0]) < FEWEST_ROUNDS or sum(map(sum, times)) < seconds:
        first = len(times[0]) % 2
        for which in (first, 1 - first):
            begun = time.process_time()
            pair[which]()
            times[which].append(time.process_time() - begun)
    ratio = statistics.median(one / other for one, other in zip(*times, strict=True))
    return statistics.median(times[0]), statistics.median(times[1]), ratio


def verdict(ratio: float, at_most: float | None) -> str:
    """What the output says of a ratio; without a target, nothing."""
    if at_most is None:
        return ""
    return "ok" if ratio <= at_most else "missed"


def restart(default_allocator: bool) -> None:
    """Replaces this process by one with the environment that the docstring above tells of, unless it has it."""
    others = {name: value for name, value in os.environ.items() if name not in KEEP_MEMORY}
    environment = others | ONE_THREAD | ({} if default_allocator else KEEP_MEMORY)
    if environment != dict(os.environ):
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--default-allocator", action="store_true", help="leave glibc's settings as they are")
    parser.add_argument("--seconds", type=float, default=8, help="processor time for each row (default 8)")
    parser.add_argument("--record", action="store_true", help="keep the figure in measured.json")
    arguments = parser.parse_args()
    if arguments.record and arguments.default_allocator:
        parser.error("--record keeps what is measured without --default-allocator")
    restart(arguments.default_allocator)
    torch.manual_seed(0)
    memory = "glibc's defaults" if arguments.default_allocator else "glibc keeps free memory"
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} thread, processor time (process_time), {memory}")
    print(f"{'ms':>8} {'against':>8} {'ratio':>6} {'at most':>8}")
    verdicts, worst = [], {}
    for row in rows():
        name = f"{row.what} {row.case}, against {row.against}"
        try:
            with torch.set_grad_enabled(row.gradients):
                median, other, ratio = alternate(row.pair(), arguments.seconds)
        except ModuleNotFoundError as missing:
            if missing.name != "transformer_lens":
                raise
            print(f"{'not installed':>40}  {name}: {INSTALL}")
            continue
        verdicts.append(verdict(round(ratio, 2), row.at_most))
        names = row.what, row.against
        worst[names] = max(round(ratio, 2), worst.get(names, (0,))[0]), row.at_most
        target = "" if row.at_most is None else f"{row.at_most:.2f}"
        print(
            f"{1000 * median:8.1f} {1000 * other:8.1f} {ratio:6.2f} {target:>8} {verdicts[-1]:>6}  {name}", flush=True
        )
    for (what, against), (ratio, at_most) in worst.items() if arguments.record else ():
        name = f"{what[0].upper()}{what[1:]}, beside {against}"
        record(name, ratio, "times as long", at_most=at_most, command="make benchmark-model")
    return 1 if "missed" in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
