"""Trainable parameters at which no gradient arrived: those that were cut off, and those that took no part."""

from collections.abc import Iterator

from torch import nn

from transformer_anatomy.instruments.health.figures import is_inside
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer

NAMED = 3  # the others are counted


def cut_off(model: nn.Module, stacks: list[list[Layer]], seen: Observation) -> Iterator[Finding]:
    """What was meant to learn and got no gradient, by the outermost module that holds nothing else.

    The loss depends on its parameters all the same, or they were used in a layer that learns.
    """
    for path, n, why in _silent(model, stacks, seen):
        if not why:
            yield Finding("unused", path, f"no gradient arrived at {n}, though the loss depends on what they did")


def bystanders(model: nn.Module, stacks: list[list[Layer]], seen: Observation) -> Iterator[str]:
    """In words, what took no part in this loss, which may be meant.

    It did not run, as an expert without tokens, or ran in vain, as the pooler of a model whose states are read.
    """
    by_reason: dict[str, list[str]] = {}
    for path, _, why in _silent(model, stacks, seen):
        if why:
            by_reason.setdefault(why, []).append(path)
    for why, paths in by_reason.items():
        more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
        yield f"{', '.join(paths[:NAMED])}{more} took no part in this loss: {why}"


def _silent(model: nn.Module, stacks: list[list[Layer]], seen: Observation) -> Iterator[tuple[str, str, str]]:
    """What got no gradient: its path, how many parameters it holds, and the reason if that is no fault."""
    quiet = {id(p): path for path, p in model.named_parameters() if p.requires_grad and p.grad is None}
    if not quiet:
        return
    layers = [layer for stack in stacks for layer in stack]
    learning = [path for path, module in layers if any(p.grad is not None for p in module.parameters())]
    reported: list[str] = []
    for path, place in (*model.named_modules(), *model.named_parameters()):
        mine = [place] if isinstance(place, nn.Parameter) else [p for p in place.parameters() if p.requires_grad]
        if not mine or any(id(p) not in quiet for p in mine) or any(is_inside(path, outer) for outer in reported):
            continue
        reported.append(path)
        paths = [quiet[id(p)] for p in mine]
        used = any(map(seen.dependence.used, paths))
        meant = any(seen.dependence.reaches(seen.value, of_mine) for of_mine in paths)
        meant |= any(is_inside(path, layer) for layer in learning)
        n = f"its {len(mine)} {'parameter' if len(mine) == 1 else 'parameters'}"
        why = "what it computed went nowhere" if used else "it was not used on the way forward"
        yield path, n, "" if used and meant else why
