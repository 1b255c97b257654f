"""What the statistics of attention cost without the map of weights, beside the way that holds the map.

    python -m benchmarks.attention_statistics                     # lengths 1024 to 16384
    python -m benchmarks.attention_statistics --lengths 2048 4096

One sample, 12 heads of width 32, float32, one thread. Each line is measured in a process of its own: seconds of the
processor, megabytes at the peak above what the process held before, and by how much both grew since the line above.
When the length doubles, either way should come to take four times as long, and the map takes four times the memory.
The blocks take some blocks of scores (4 MB each, how many at a time is up to the allocator), and four numbers for each
head and query: a length of 16384 stays under 600 MB, where the weights alone would be 12885 MB. The exit status is 1 if
it does not.
"""

import argparse
import resource
import subprocess
import sys
import time

from benchmarks.record import record

N_HEADS, D_HEAD = 12, 32
WAYS = {"blocks": 1, "blocks, causal": 1, "dense": 3}  # how many maps of weights the way holds at a time
LIMIT = 3e9  # bytes that the dense way may take
LONG, AT_MOST = 16384, 600  # MB that the blocks may take at this length
MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024  # in the unit of ru_maxrss: bytes there, else KiB


def measure(way: str, length: int) -> None:
    """Prints the seconds and the megabytes of one call, after a small one that loads what torch loads late."""
    import torch

    from transformer_anatomy import (
        attention_distance,
        attention_entropy,
        attention_scores,
        attention_statistics,
        attention_weights,
        window_mass,
    )

    def dense(queries, keys):
        weights = attention_weights(attention_scores(queries, keys))
        near = window_mass(weights, 3)
        return attention_entropy(weights), attention_distance(weights), near, weights.amax(dim=-1)

    def blocks(queries, keys):
        return attention_statistics(queries, keys, causal=way == "blocks, causal")

    torch.set_num_threads(1)
    torch.manual_seed(0)
    queries, keys = (torch.randn(1, N_HEADS, length, D_HEAD) for _ in range(2))
    call = dense if way == "dense" else blocks
    call(queries[..., :16, :], keys[..., :16, :])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    call(queries, keys)
    seconds = time.process_time() - begun
    print(seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / MEGABYTE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", nargs="+", type=int, default=[1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--record", action="store_true", help="keep the figure of length 16384 in measured.json")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)  # what each process is asked to do
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure, arguments.lengths[0])
        return 0
    taken = None
    for way, n_maps in WAYS.items():
        print(f"{way}\n{'length':>8} {'seconds':>9} {'':7} {'MB':>9}")
        last = None
        for length in arguments.lengths:
            if way == "dense" and n_maps * N_HEADS * length**2 * 4 > LIMIT:
                print(f"{length:8} does not fit: the weights alone take {N_HEADS * length**2 * 4 / 1e6:.0f} MB")
                continue
            command = [sys.executable, "-m", __spec__.name, "--measure", way, "--lengths", str(length)]
            printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            costs = [float(cost) for cost in printed.split()]
            growth = [f"× {new / old:.1f}" for new, old in zip(costs, last or [], strict=False)] or ["", ""]
            print(f"{length:8} {costs[0]:9.2f} {growth[0]:7} {costs[1]:9.1f} {growth[1]}")
            last = costs
            if (way, length) == ("blocks", LONG):
                taken = costs[1]
    if taken is not None and arguments.record:
        name = f"Memory for the statistics of {N_HEADS} heads at length {LONG:,}, without the map of weights"
        record(name, taken, "MB", at_most=AT_MOST, command="make benchmark-instruments")
    return 0 if taken is None or taken <= AT_MOST else 1


if __name__ == "__main__":
    sys.exit(main())
