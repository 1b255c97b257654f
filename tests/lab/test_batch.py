from collections import UserDict, namedtuple
from collections.abc import MutableMapping
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from tests.lab import reversal
from transformer_anatomy.lab.batch import Whole, count_samples, map_tensors, tensors_of

pytestmark = pytest.mark.usefixtures("unchecked")


@dataclass(frozen=True)
class Record:
    source: Tensor
    target: Tensor
    kind: str = "reversal"


Pair = namedtuple("Pair", "source target")


@pytest.mark.parametrize(
    "arrange",
    [
        lambda source, target: [source, target],
        lambda source, target: {"source": source, "target": target},
        lambda source, target: (("reversal", source), {"more": target}),
        lambda source, target: UserDict(source=source, target=target),  # as a tokenizer's batches are
        Pair,
        Record,
    ],
)
def test_a_batch_is_tensors_in_any_arrangement(arrange):
    def take(model, batch):
        assert type(batch) is type(arrange(*reversal.batches(torch.Generator())))
        return reversal.loss(model, [part for part in flat(batch) if isinstance(part, Tensor)])

    expected = reversal.train(reversal.model())
    arranged = reversal.train(reversal.model(), batches=lambda g: arrange(*reversal.batches(g)), loss=take)
    assert arranged.equals(expected)


def flat(batch):
    parts = (
        batch.values()
        if isinstance(batch, MutableMapping)
        else vars(batch).values()
        if isinstance(batch, Record)
        else batch
    )
    for part in parts:
        yield from flat(part) if isinstance(part, dict | tuple) else [part]


def test_every_tensor_is_found_and_changed_and_the_rest_stays():
    batch = {"pair": Pair(torch.ones(2), [torch.ones(2, 3)]), "record": Record(torch.ones(1), torch.ones(1)), "n": 5}
    doubled = map_tensors(lambda tensor: 2 * tensor, batch)
    assert [tensor.unique().item() for tensor in tensors_of(doubled)] == [2, 2, 2, 2]
    assert [tensor.shape for tensor in tensors_of(doubled)] == [(2,), (2, 3), (1,), (1,)]
    assert isinstance(doubled["pair"], Pair) and doubled["record"].kind == "reversal" and doubled["n"] == 5
    assert all((tensor == 1).all() for tensor in tensors_of(batch))


def test_a_mark_is_taken_off_where_it_is_heeded():
    batch = {"mask": Whole(torch.ones(3, 3)), "ids": torch.ones(3)}
    assert count_samples((Whole(torch.ones(3, 3)), torch.ones(5))) == 5
    assert len(list(tensors_of(batch))) == 2
    changed = map_tensors(lambda tensor: tensor[:1], batch, change_whole=lambda tensor: tensor + 1)
    assert torch.equal(changed["mask"], torch.full((3, 3), 2.0)) and changed["ids"].tolist() == [1]
    assert isinstance(batch["mask"], Whole)


def test_samples_are_counted_along_the_first_axis_of_the_first_tensor_that_has_one():
    assert count_samples((torch.tensor(3.0), torch.ones(4, 2), torch.ones(7))) == 4
    for nothing in ((), None, torch.tensor(3.0), torch.ones(0, 5)):
        with pytest.raises(ValueError, match="at least one sample"):
            count_samples(nothing)
