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

    Its parameters were used, and what it returned was read by something else, or it stands in a layer that learns.
    """
    for path, n, why in _silent(model, stacks, seen):
        if not why:
            yield Finding("unused", path, f"no gradient arrived at {n}, though they were used on the way forward")


def bystanders(model: nn.Module, stacks: list[list[Layer]], seen: Observation) -> Iterator[str]:
    """In words, what took no part in this loss, which may be meant.

    It did not run, as an expert without tokens, or ran for nobody, as the pooler of a model whose states are read.
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
    layers = [layer for stack in stacks for layer in stack]
    learning = [path for path, module in layers if any(p.grad is not None for p in module.parameters())]
    reported: list[str] = []
    for path, place in (*model.named_modules(), *model.named_parameters()) if quiet else ():
        alone = isinstance(place, nn.Parameter)
        mine = [place] if alone else [p for p in place.parameters() if p.requires_grad]
        if not mine or any(id(p) not in quiet for p in mine) or any(is_inside(path, outer) for outer in reported):
            continue
        reported.append(path)
        owner = path.rpartition(".")[0] if alone else path
        used = any(quiet[id(p)] in seen.reads for p in mine)
        wanted = owner in seen.reads or owner not in seen.reads.ran or any(is_inside(path, layer) for layer in learning)
        n = f"its {len(mine)} {'parameter' if len(mine) == 1 else 'parameters'}"
        why = (
            "" if used and wanted else "nothing read what it returned" if used else "it was not used on the way forward"
        )
        yield path, n, why
