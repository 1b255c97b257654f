import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial, wraps

import pytest
import torch
from torch import nn

from transformer_anatomy import fit
from transformer_anatomy.lab.code import code_digest

START = """
import torch
from dataclasses import dataclass
from transformer_anatomy import fit
STEPS, SIZES, DATA = 100, {"width": 4}, torch.arange(3)

@dataclass
class Corpus:
    ids: torch.Tensor

TEXT = Corpus(torch.arange(5))

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def loss(model, batch):
    return model(batch).mean()

def run(seed, rate=0.1):
    words = {"several", "words", "in", "a", "set"}
    if "word" in {"word", "other", "third", "fourth"}:
        return fit(Model(), lambda generator: DATA[:2], loss, n_steps=STEPS, **SIZES), TEXT.ids
"""


def digest(source):
    module = {"__name__": "notebook"}
    exec(compile(source, "notebook", "exec"), module)
    return code_digest(module["run"])


def test_comments_and_blank_lines_change_nothing():
    assert (
        digest(START)
        == digest(START)
        == digest("# a remark\n" + START.replace("\n    return", "\n\n    # why\n    return"))
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return fit(Model(), lambda generator: DATA[:2]", "return fit(Model(), lambda generator: DATA[:1]"),
        ("rate=0.1", "rate=0.2"),
        ("STEPS, SIZES, DATA = 100", "STEPS, SIZES, DATA = 200"),
        ('{"width": 4}', '{"width": 8}'),
        ("torch.arange(3)", "torch.arange(3) + 1"),
        ("torch.arange(5)", "torch.arange(6)"),
        ("model(batch).mean()", "model(batch).sum()"),
        ("return 2 * x", "return 3 * x"),
        ("def run(", "def other(seed): ...\ndef run("),
    ],
)
def test_what_it_does_and_what_it_names_counts(before, after):
    assert START.count(before) == 1
    changed = digest(START.replace(before, after)) != digest(START)
    assert changed == ("other" not in after)  # what it does not name does not count


def test_it_is_the_same_in_another_session():
    code = "from tests.lab.test_code import START, digest; print(digest(START))"
    seeds = [{"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    runs = [subprocess.run([sys.executable, "-c", code], env=os.environ | seed, capture_output=True) for seed in seeds]
    assert [run.stdout.decode().strip() for run in runs] == [digest(START)] * 2, runs[0].stderr


def test_around_it_and_among_its_arguments():
    def maker(factor):
        def run(a, b=1):
            return factor * a * b

        return run

    digests = [
        code_digest(run) for run in (maker(1), maker(2), partial(maker(1), b=2), partial(maker(1), b=3), maker(1))
    ]
    assert len(set(digests[:4])) == 4 and digests[4] == digests[0]


def test_a_wrapper_and_an_object_that_is_called():
    def twice(function):
        @wraps(function)
        def wrapped(a):
            return 2 * function(a)

        return wrapped

    @dataclass
    class Times:
        factor: int

        def __call__(self, a):
            return self.factor * a

    assert code_digest(twice(lambda a: a + 1)) != code_digest(twice(lambda a: a + 2))
    assert code_digest(Times(2)) == code_digest(Times(2)) != code_digest(Times(3))
    assert code_digest(Times(2).__call__) != code_digest(Times(3).__call__)


def test_a_function_that_calls_itself_and_one_of_the_library_have_a_digest():
    def deep(a):
        return deep(a - 1) if a else late

    assert code_digest(deep) == code_digest(deep)
    late = 3
    assert len({code_digest(deep), code_digest(fit), code_digest(max), code_digest(nn.Linear(2, 2))}) == 4
    assert code_digest(torch.sum) != code_digest(torch.prod)
