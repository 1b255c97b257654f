"""Many runs that differ in their settings, on this machine or on a cluster, in one table."""

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import torch
from joblib import Parallel, delayed

from transformer_anatomy.lab.progress import progress_bar


def sweep(
    run: Callable[..., Mapping[str, object]],
    settings: Mapping[str, Sequence[object]],
    *,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> pd.DataFrame:
    """A table with a row for each combination of `settings`, its columns those settings and what `run` made of them.

        sweep(train, {"n_layers": [1, 6], "norm": ["post", "pre"], "seed": range(3)}, n_jobs=2)

    `run` takes a setting of each name and returns numbers by name. The runs are independent: joblib spreads them over
    `n_jobs` processes, or over the cluster that `joblib.parallel_config` names. Each computes on one thread, so that
    the numbers do not depend on where. With a `folder` each result is kept there once it is ready, and the next time
    only missing runs are made.

    Raises `ValueError` for empty settings and for names that `run` gives to its results, too. An error in a run passes
    through with its settings; results that were ready before are in the folder.
    """
    empty = [name for name, values in settings.items() if len(values) == 0]
    if not settings or empty:
        raise ValueError(
            f"settings must give at least one value for each name, got none for {', '.join(empty) or 'any name'}"
        )
    folder = None if folder is None else Path(folder)
    combinations = [dict(zip(settings, values, strict=True)) for values in itertools.product(*settings.values())]
    tasks = (delayed(_one)(run, combination, folder) for combination in combinations)
    with progress_bar(len(combinations), progress) as bar:
        rows = []
        for row in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
            rows.append(row)
            bar.update()
    return pd.DataFrame(rows)


def _one(
    run: Callable[..., Mapping[str, object]], setting: dict[str, object], folder: Path | None
) -> dict[str, object]:
    file = None if folder is None else folder / f"{_name(setting)}.json"
    if file is not None and file.exists():
        return {**setting, **json.loads(file.read_text(encoding="utf-8"))["result"]}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        result = dict(run(**setting))
    except Exception as error:
        error.add_note(f"in the run with {', '.join(f'{name} = {value!r}' for name, value in setting.items())}")
        raise
    finally:
        torch.set_num_threads(threads)
    if clash := setting.keys() & result.keys():
        raise ValueError(f"run must not name its results like settings, got {', '.join(sorted(clash))}")
    if file is not None:
        folder.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"setting": setting, "result": result}, default=_plain), encoding="utf-8")
        os.replace(partial, file)
    return {**setting, **result}


def _name(setting: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(setting, sort_keys=True, default=_plain).encode()).hexdigest()[:16]


def _plain(value: object) -> object:
    """NumPy and PyTorch numbers as Python's; anything else by its repr, which has to tell it from others."""
    return value.item() if hasattr(value, "item") else repr(value)
