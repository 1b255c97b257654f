"""Many runs that differ in their settings, on this machine or on a cluster, in one table."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import torch
from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

from transformer_anatomy.lab.code import code_digest
from transformer_anatomy.lab.identity import name_of
from transformer_anatomy.lab.progress import hidden_bars, progress_bar
from transformer_anatomy.lab.randomness import random_state_kept, seed_everything
from transformer_anatomy.lab.results import ResultFolder, plain
from transformer_anatomy.model.device import gpus_in_use

Setting = dict[str, object]
Result = dict[str, object]


def sweep(
    run: Callable[..., Mapping[str, object]],
    settings: Mapping[str, Iterable[object]],
    *,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    version: str | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """A table with a row for each combination of `settings`, its columns those settings and what `run` made of them.

        def train(n_layers, seed):
            torch.manual_seed(seed)  # else every run starts with the same weights
            ...
            return {"accuracy": accuracy}

        sweep(train, {"n_layers": [1, 2, 6], "seed": range(3)}, n_jobs=2)

    `run` takes one value of each setting and returns numbers or words by name. The runs are independent: joblib spreads
    them over `n_jobs` processes, or over what `joblib.parallel_config` names: tried are "loky", which is the default,
    "threading", and "multiprocessing", which hands over all results at the end; a cluster by "dask" or "ray" is
    untried. Each computes on one thread and begins with the random states of PyTorch, NumPy and Python at 0, so that
    the numbers do not depend on where and when; only threads, which share those states, do not promise it.

    With a `folder` each result is kept there as JSON, and the next time only the missing runs are made. A result is
    that of a function: of its name and of its code, and what it names in its own module, but not of what it imports.
    With a `version`, a word of your choice, the code does not count: keep the word, and results are read back however
    `run` has changed, or change it, and all runs are made again.

    Raises `ValueError` for settings without values or with equal ones and for names that `run` gives to its results,
    too, `TypeError` for results that are no numbers. An error in a run passes through with its settings as a note.
    """
    combinations = _combinations(settings)
    kept = None if folder is None else ResultFolder(Path(folder), combinations, _what(run, version))
    results = {} if kept is None else kept.read()
    tasks = (delayed(_one)(index, run, setting) for index, setting in enumerate(combinations) if index not in results)
    with _one_thread(), progress_bar(len(combinations), progress, initial=len(results)) as bar:
        for index, result in Parallel(n_jobs=n_jobs, batch_size=1, return_as=_as_soon_as_can_be())(tasks):
            results[index] = result
            if kept is not None:
                kept.write(index, result)
            bar.update()
    return pd.DataFrame([{**setting, **results[index]} for index, setting in enumerate(combinations)])


def _as_soon_as_can_be() -> str:
    """One by one, as they are ready, so that none is lost when a later one fails; not every backend can do that."""
    return "generator_unordered" if get_active_backend()[0].supports_return_generator else "list"


def _what(run: Callable[..., Mapping[str, object]], version: str | None) -> dict[str, str]:
    if version is None:
        return {"name": name_of(run), "code": code_digest(run)}
    if not isinstance(version, str):
        raise TypeError(f"version must be a word, got {version!r}")
    return {"name": name_of(run), "version": version}


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
    with random_state_kept(*gpus_in_use()), _one_thread(), hidden_bars():
        torch.manual_seed(0)  # on every device
        seed_everything(0, torch.device("cpu"))
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
