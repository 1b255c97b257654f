"""What a chapter leaves behind: figures that a kernel answers, and a real encoder that is as it was."""

import os

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

import transformer_anatomy
from tests.chapters import ROOT, notebooks
from transformer_anatomy import Explorer
from transformer_anatomy.model import pretrained

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=notebooks(back_matter=False), ids=lambda chapter: chapter.path.stem)
def figures(request) -> list[Explorer]:
    """Every figure of a chapter, after all its cells have run."""
    made, explore, folder = [], transformer_anatomy.explore, os.getcwd()

    def keep(*arguments, **options):
        made.append(explore(*arguments, **options))
        return made[-1]

    shell = InteractiveShell.instance()
    transformer_anatomy.explore = keep
    pretrained._load.cache_clear()
    pretrained.load_minilm()
    os.chdir(ROOT / "book")
    try:
        with capture_output():
            for cell in request.param.code_cells:
                shell.run_cell(cell.source).raise_error()
        yield made
    finally:
        os.chdir(folder)
        del transformer_anatomy.explore
        InteractiveShell.clear_instance()


def between(grid) -> list:
    """Settings that no frame is stored for, in the middle of the grid and next to its ends."""
    values = grid.values
    if isinstance(values[0], str | bool):
        return []
    if grid.integer:
        return [v for v in (values[0] + 1, (values[0] + values[-1]) // 2, values[-1] - 1) if v not in values]
    return [low + 0.4 * (high - low) for low, high in ((values[0], values[1]), (values[-2], values[-1]))]


def test_the_kernel_answers_between_the_stored_settings_of_every_control(figures):
    assert figures
    for figure in figures:
        for name, grid in figure.controls.items():
            for value in between(grid):
                frame = figure.computation.frame(figure.start | {name: value})
                assert frame.readout, (figure.texts["title"], name, value)


def test_stored_frames_are_what_the_kernel_computes_within_the_stated_rounding(figures):
    for figure in figures:
        for settings in figure.settings[:: max(1, len(figure.settings) // 12)]:
            stored, computed = figure.frame(**settings), figure.computation.frame(settings).arrays
            stored = stored if isinstance(stored, dict) else {"": stored}
            assert list(stored) == list(computed)
            for name, values in stored.items():
                gap = (values.double() - torch.from_numpy(computed[name]).double()).abs().max()
                assert gap <= figure.quantisation[name], (figure.texts["title"], name, settings)


def hooks(model: torch.nn.Module) -> list[str]:
    """Where something is hooked into a model or its parameters."""
    places = [*model.named_modules(), *model.named_parameters()]
    held = [(name, kind, getattr(place, kind)) for name, place in places for kind in dir(place) if "hooks" in kind]
    return [f"{name}.{kind}" for name, kind, those in held if those and not callable(those)]


def test_a_chapter_leaves_the_real_encoder_as_it_was_loaded(figures):
    """All chapters of a process share it: a hook or a weight left changed would speak in every later cell."""
    shared, loaded = pretrained._load(CPU), pretrained._load.__wrapped__(CPU)
    assert str(shared) == str(loaded)
    assert hooks(shared) == hooks(loaded) == []
    assert not any(module.training for module in shared.modules())
    for (name, parameter), (other, expected) in zip(shared.named_parameters(), loaded.named_parameters(), strict=True):
        assert name == other
        assert torch.equal(parameter, expected), name
        assert parameter.requires_grad and parameter.grad is None, name
