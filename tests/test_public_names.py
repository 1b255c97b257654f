import importlib
import importlib.util
import subprocess
import sys

import pytest

import transformer_anatomy


def loaded_by(statement):
    """The modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}; import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return set(run.stdout.split())


@pytest.mark.parametrize("name", transformer_anatomy.__all__)
def test_every_public_name_is_there(name):
    module = f"transformer_anatomy.{transformer_anatomy._HOMES[name]}"
    assert getattr(transformer_anatomy, name) is getattr(importlib.import_module(module), name)
    assert getattr(transformer_anatomy, name).__doc__


def test_the_names_are_listed():
    assert set(transformer_anatomy.__all__) <= set(dir(transformer_anatomy))


def test_an_unknown_name_is_refused():
    with pytest.raises(AttributeError, match="'transformer_anatomy' has no attribute 'atention'"):
        transformer_anatomy.atention  # noqa: B018
    with pytest.raises(ImportError):
        from transformer_anatomy import atention  # noqa: F401


def test_importing_the_package_loads_nothing_else():
    added = loaded_by("import transformer_anatomy") - loaded_by("import importlib")
    assert added == {"transformer_anatomy"}


def test_the_model_and_the_instruments_load_torch_and_no_heavy_library_besides():
    statement = "from transformer_anatomy import Encoder, Transformer, record, attention_entropy, causal_mask"
    added = {name.partition(".")[0] for name in loaded_by(statement) - loaded_by("import torch")}
    heavy = {"matplotlib", "anywidget", "tokenizers", "safetensors", "yaml", "IPython", "transformers", "beartype"}
    assert not added & (heavy | {"pandas", "joblib", "tqdm", "sklearn", "scipy"})
    assert {"transformer_anatomy", "jaxtyping"} <= added
