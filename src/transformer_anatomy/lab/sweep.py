"""Many runs that differ in their settings, on this machine or on a cluster, in one table."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import torch
from joblib import Parallel, delayed

from transformer_anatomy.lab.progress import hidden_bars, progress_bar
from transformer_anatomy.lab.results import ResultFolder, plain

Setting = dict[str, object]
Result = dict[str, object]


def sweep(
    run: Callable[..., Mapping[str, object]],
    settings: Mapping[str, Iterable[object]],
    *,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """A table with a row for each combination of `settings`, its columns those settings and what `run` made of them.

        def train(n_layers, seed):
            torch.manual_seed(seed)  # else every run starts with the same weights
            ...
            return {"accuracy": accuracy}

        sweep(train, {"n_layers": [1, 2, 6], "seed": range(3)}, n_jobs=2)

    `run` takes one value of each setting and returns numbers or words by name. The runs are independent: joblib spreads
    them over `n_jobs` processes, or over the cluster that `joblib.parallel_config` names. Each computes on one thread
    and begins with PyTorch's random state at 0, so that the numbers do not depend on where and when; only threads,
    which share that state, do not promise it. With a `folder` each result is kept there as JSON, and the next time only
    the missing runs are made; delete it when `run` changes.

    Raises `ValueError` for settings without values or with equal ones and for names that `run` gives to its results,
    too, `TypeError` for results that are no numbers. An error in a run passes through with its settings as a note.
    """
    combinations = _combinations(settings)
    kept = None if folder is None else ResultFolder(Path(folder), combinations)
    results = {} if kept is None else kept.read()
    tasks = (delayed(_one)(index, run, setting) for index, setting in enumerate(combinations) if index not in results)
    with _one_thread(), progress_bar(len(combinations), progress, initial=len(results)) as bar:
        # One by one, as they are ready, so that none is lost when a later one fails.
        for index, result in Parallel(n_jobs=n_jobs, batch_size=1, return_as="generator_unordered")(tasks):
            results[index] = result
            if kept is not None:
                kept.write(index, result)
            bar.update()
    return pd.DataFrame([{**setting, **results[index]} for index, setting in enumerate(combinations)])


def _combinations(settings: Mapping[str, Iterable[object]]) -> list[Setting]:
    """Every choice of one value for each name, the last name changing fastest."""
    choices = {}
    for name, values in settings.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ValueError(f"settings must give a list of values for each name, got {name} = {values!r}")
        choices[name] = [plain(value) for value in values]
        if not choices[name]:
            raise ValueError(f"settings must give at least one value for each name, got none for {name}")
        if any(value in choices[name][:index] for index, value in enumerate(choices[name])):
            raise ValueError(f"settings must give different values for each name, got {name} = {choices[name]}")
    if not choices:
        raise ValueError("settings must name at least one setting, got none")
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def _one(index: int, run: Callable[..., Mapping[str, object]], setting: Setting) -> tuple[int, Result]:
    with torch.random.fork_rng(devices=[]), _one_thread(), hidden_bars():
        torch.manual_seed(0)
        try:
            result = run(**setting)
            if not isinstance(result, Mapping):
                raise TypeError(f"run must return numbers by name, as {{'loss': 0.1}}, got {type(result).__name__}")
            if clash := sorted(setting.keys() & result.keys()):
                raise ValueError(f"run must not name its results like settings, got {', '.join(clash)}")
            if words := [name for name in result if not isinstance(name, str)]:
                raise TypeError(f"run must name its results by words, got {words[0]!r}")
            return index, {name: _number(name, value) for name, value in result.items()}
        except Exception as error:
            error.add_note(f"in the run with {', '.join(f'{name} = {value!r}' for name, value in setting.items())}")
            raise


def _number(name: str, value: object) -> object:
    value = plain(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"run must return a number or a word for each name, got {name} of type {type(value).__name__}")


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
