"""Trainable parameters at which no gradient arrived: those that were cut off, and those that took no part."""

from collections.abc import Iterator

from torch import nn

from transformer_anatomy.instruments.health.figures import is_inside
from transformer_anatomy.instruments.health.finding import Finding
from transformer_anatomy.instruments.health.observation import Observation
from transformer_anatomy.instruments.health.stacks import Layer


def silent(model: nn.Module, stacks: list[list[Layer]], seen: Observation) -> Iterator[tuple[Finding, bool]]:
    """What got no gradient, as findings, each with whether it is a fault, by the outermost module that holds no other.

    A part that was computed and then read by something else, or that stands inside a layer which learns, was meant to
    learn: a fault. What did not run, as an expert without tokens, or ran for nobody, as the pooler of a model whose
    states are read, took no part in this loss, which may be meant.
    """
    quiet = {id(p): path for path, p in model.named_parameters() if p.requires_grad and p.grad is None}
    if not quiet:
        return
    layers = [layer for stack in stacks for layer in stack]
    learning = [path for path, module in layers if any(p.grad is not None for p in module.parameters())]
    reported: list[str] = []
    for path, place in (*model.named_modules(), *model.named_parameters()):
        alone = isinstance(place, nn.Parameter)
        mine = [place] if alone else [p for p in place.parameters() if p.requires_grad]
        if not mine or any(id(p) not in quiet for p in mine) or any(is_inside(path, outer) for outer in reported):
            continue
        reported.append(path)
        owner = path.rpartition(".")[0] if alone else path
        ran = any(quiet[id(p)] in seen.reads for p in mine)
        wanted = owner in seen.reads or owner not in seen.reads.ran
        fault = ran and (wanted or any(is_inside(path, layer) for layer in learning))
        n = f"its {len(mine)} {'parameter' if len(mine) == 1 else 'parameters'}"
        if fault:
            evidence = f"no gradient arrived at {n}, though they were used on the way forward"
        else:
            why = "nothing read what it returned" if ran else "it was not used on the way forward"
            evidence = f"{n} took no part in this loss: {why}"
        yield Finding("unused", path, evidence), fault
