"""Notebooks that the execution cache lacks run side by side before Sphinx reads them, as many as there are cores.

MyST-NB alone runs them one after the other, each when its page is read; here it finds all of them in its cache.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import joblib
import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from myst_nb.core.config import NbParserConfig
from nbclient.exceptions import CellControlSignal, DeadKernelError
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util import logging
from sphinx.util.console import strip_escape_sequences

from transformer_anatomy.page.kernels import Kernels

logger = logging.getLogger(__name__)
Pages = dict[str, tuple[Path, NotebookNode]]  # by name


class NotebooksFailed(SphinxError):
    """Raised when a cell raised, took too long, or took its kernel down."""

    category = "Notebooks failed"


@dataclass
class Runs:
    """Page to what the cache tells of its outputs, `execution_seconds` and `finished`; and what this build executed."""

    outputs: dict[str, dict[str, Any]] = field(default_factory=dict)
    executed: tuple[str, ...] = ()
    at_a_time: int = 0
    seconds: float = 0.0


def setup(app: Sphinx) -> None:
    """Connects the execution to Sphinx."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # kernels side by side would fight for the cores
    app.connect("env-before-read-docs", _execute_what_is_missing)


def runs(env: BuildEnvironment) -> Runs:
    """How the outputs in the pages came about; kept with the pages from build to build."""
    return env.__dict__.setdefault("anatomy_runs", Runs())


def _execute_what_is_missing(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    config: NbParserConfig = env.mystnb_config
    before = runs(env).outputs
    known = env.anatomy_runs = Runs({name: told for name, told in before.items() if name in env.found_docs})
    for name in docnames:
        known.outputs.pop(name, None)
    if config.execution_mode != "cache" or config.execution_in_temp or config.kernel_rgx_aliases:
        return  # left to MyST-NB
    cache = get_cache(config.execution_cache_path)
    pages = dict(_notebooks(env, docnames, config))
    missing = _missing(pages, cache)
    if missing:
        begun = time.perf_counter()
        order = longest_first({name: before.get(name, {}).get("execution_seconds") for name in missing})
        known.executed, known.at_a_time = tuple(missing), min(joblib.cpu_count(), len(missing))
        logger.info("Executing %d notebooks, %d at a time", len(missing), known.at_a_time)
        _execute({name: pages[name] for name in order}, known.at_a_time, config, cache)
        known.seconds = time.perf_counter() - begun
    for name, (_, notebook) in pages.items():
        try:
            known.outputs[name] = cache.match_cache_notebook(notebook).data
        except KeyError:
            continue  # it failed, and may


def _notebooks(
    env: BuildEnvironment, docnames: Iterable[str], config: NbParserConfig
) -> Iterator[tuple[str, tuple[Path, NotebookNode]]]:
    """The pages that are notebooks to execute, without those that ask for settings of their own."""
    for name in docnames:
        path = Path(env.doc2path(name))
        if path.suffix == ".ipynb" and not any(map(PurePosixPath(path).match, config.execution_excludepatterns)):
            notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
            if not {"execution", config.metadata_key} & set(notebook.metadata):
                yield name, (path, notebook)


def _missing(pages: Pages, cache: JupyterCacheAbstract) -> list[str]:
    """Names of those that the cache does not hold; of equal notebooks, the first."""
    keys = {name: cache.create_hashed_notebook(notebook)[1] for name, (_, notebook) in reversed(pages.items())}
    first = {key: name for name, key in keys.items()}
    held = {record.hashkey for record in cache.list_cache_records()}
    return [name for name in pages if first[keys[name]] == name and keys[name] not in held]


def longest_first(seconds: Mapping[str, float | None]) -> list[str]:
    """The names by falling seconds; those that nobody measured yet come first, in their order."""
    return sorted(seconds, key=lambda name: -(seconds[name] or float("inf")))


def _execute(pages: Pages, at_a_time: int, config: NbParserConfig, cache: JupyterCacheAbstract) -> None:
    """Runs the notebooks in this order and stores their outputs; when some fail, after all have run."""
    failed = []
    kernels = Kernels(timeout=config.execution_timeout, allow_errors=config.execution_allow_errors)
    with ThreadPoolExecutor(at_a_time) as pool:
        running = {pool.submit(kernels.run, path, notebook): name for name, (path, notebook) in pages.items()}
        try:
            for done in as_completed(running):
                name = running[done]
                path, notebook = pages[name]
                try:
                    seconds = done.result()
                except (CellControlSignal, DeadKernelError) as error:
                    failed.append(name)
                    if config.execution_raise_on_error:
                        words = strip_escape_sequences(str(error)).strip()
                        logger.warning("Executing notebook failed:\n%s", words, location=name, type="anatomy")
                else:
                    logger.info("%s: Executed notebook in %.2f seconds", name, seconds)
                    told = {"execution_seconds": seconds, "finished": datetime.now(UTC).isoformat()}
                    bundle = CacheBundleIn(notebook, str(path), data=told)
                    cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.stop()
            raise
    if failed and config.execution_raise_on_error:  # else MyST-NB runs them again, and shows how far they came
        raise NotebooksFailed(", ".join(sorted(failed)))
