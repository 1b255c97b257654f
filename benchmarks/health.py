"""How long `examine` takes, in plain training steps: forward, backward, zero_grad.

    python -m benchmarks.health

Six layers, d_model 256, d_feedforward 1024, 8 sequences of 128 tokens; processor time on one thread, the median of
several rounds. The exit status is 1 if it takes more than three steps.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.record import record
from transformer_anatomy import Encoder, TransformerConfig, examine

LIMIT = 3.0  # plain steps
VOCAB_SIZE, BATCH, N_TOKENS, D_MODEL, N_HEADS, N_LAYERS, D_FEEDFORWARD = 1000, 8, 128, 256, 4, 6, 1024


def ours() -> nn.Module:
    return Encoder(TransformerConfig(VOCAB_SIZE, D_MODEL, N_HEADS, N_LAYERS, D_FEEDFORWARD))


def in_torch() -> nn.Module:
    layer = nn.TransformerEncoderLayer(D_MODEL, N_HEADS, D_FEEDFORWARD, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, N_LAYERS, enable_nested_tensor=False)
    return nn.Sequential(nn.Embedding(VOCAB_SIZE, D_MODEL), encoder)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def ratio(name: str, encoder: nn.Module, rounds: int) -> float:
    """Prints a line; returns how many plain steps `examine` takes."""
    model = nn.Sequential(encoder, nn.Linear(D_MODEL, VOCAB_SIZE))
    ids, targets = torch.randint(0, VOCAB_SIZE, (2, BATCH, N_TOKENS))

    def loss(model: nn.Module) -> torch.Tensor:
        return F.cross_entropy(model(ids).flatten(0, 1), targets.flatten())

    def step() -> None:
        loss(model).backward()
        model.zero_grad()

    step()
    pairs = [(seconds(step), seconds(lambda: examine(model, loss))) for _ in range(rounds)]
    plain, examined = map(statistics.median, zip(*pairs, strict=True))
    print(f"{1000 * plain:7.0f} {1000 * examined:8.0f} {examined / plain:6.2f}  {name}")
    return examined / plain


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured")
    parser.add_argument("--record", action="store_true", help="keep the figure in measured.json")
    arguments = parser.parse_args()
    rounds = arguments.rounds
    torch.set_num_threads(1)
    torch.manual_seed(0)
    print("step ms  examine  ratio  model")
    slowest = max(ratio("Encoder", ours(), rounds), ratio("nn.TransformerEncoder", in_torch(), rounds))
    print(f"at most {slowest:.2f} plain steps, the limit is {LIMIT:.0f}")
    if arguments.record:
        name = "A report of examine on six layers of width 256, 8 × 128 tokens"
        record(name, slowest, "plain training steps", at_most=LIMIT, command="make benchmark-instruments")
    return 0 if slowest <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
