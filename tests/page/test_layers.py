"""A sample through a stack of layers, as Python sees the figure: what is stored, drawn, refused and loaded."""

import math

import numpy as np
import pytest
import torch
from matplotlib.patches import PathPatch

from transformer_anatomy import choices, explore
from transformer_anatomy.page.plotting.layers import STROKE

TEXTS = {"title": "A finding", "alt": "What is to be seen"}
WORDS = {"short": ["a", "b", "a"], "long": ["a", "b", "a", "c", "d"]}
CHOSEN = {"layer": 2, "heads": [1, 3, 4], "row": 2}


def stack(text):
    """Three layers of four heads."""
    n = len(WORDS[text])
    scores = torch.randn(3, 4, n, n, generator=torch.Generator().manual_seed(n))
    weights = scores.softmax(-1)
    states = torch.nn.functional.normalize(torch.randn(4, n, 8, generator=torch.Generator().manual_seed(n)), dim=-1)
    entropy = -(weights * weights.log()).sum(-1)
    return {"weights": weights, "entropy, nats": entropy, "uniform": math.log(n), "cosine": states @ states.mT}


def notes(text):
    return [f"{word}{place}\nmore" for place in range(4) for word in WORDS[text]]


def figure(function=stack, **options):
    given = {"rows": lambda text: WORDS[text], "notes": notes, "note_label": "Nearest", "chosen": CHOSEN}
    return explore(function, **TEXTS, text=choices(list(WORDS), free_text=True), **given | options)


def test_a_stored_frame_is_the_result_within_the_stated_quantisation():
    made = figure()
    assert made.computation.drawing.kind == "layers"
    for text in WORDS:
        for name, tensor in made.frame(text=text).items():
            wanted = torch.as_tensor(stack(text)[name]).float()
            assert tensor.shape == wanted.shape
            assert (tensor - wanted).abs().max() <= made.quantisation[name]
    assert made.quantisation["weights"] < 0.002
    assert made.quantisation["cosine"] < 1e-4


def test_maps_alone_are_enough():
    made = figure(lambda text: stack(text)["weights"], rows=None, notes=None, note_label=None, chosen=None)
    assert made.computation.drawing.marks == {"": "maps"}
    assert made.computation.drawing.options["chosen"] == {"layer": 1, "heads": [1, 1, 1], "row": 1, "size": (3, 4)}


def test_as_many_heads_as_rows_are_no_riddle():
    """(layer, head, row) and (layer + 1, row, row) differ in the first axis only."""
    weights = torch.full((2, 3, 3, 3), 1 / 3)
    likeness, spread = torch.ones(3, 3, 3), torch.zeros(2, 3, 3)
    made = explore(lambda n: {"w": weights, "a": likeness, "b": spread}, **TEXTS, n=[1, 2])
    assert made.computation.drawing.marks == {"w": "maps", "a": "likeness", "b": "spread"}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"second": torch.zeros(3, 4, 3, 3)}, r"draws \(layer, head, row, row\)"),
        ({"cosine": torch.zeros(5, 3, 3)}, "the shapes are"),
        ({"entropy, nats": torch.zeros(3, 5, 3)}, "the shapes are"),
        ({"vector": torch.zeros(3)}, "the shapes are"),
        ({"weights": torch.zeros(3, 4, 3, 2)}, "the shapes are"),
        ({"weights": torch.full((3, 4, 3, 3), 2.0)}, "leave the range"),
    ],
)
def test_what_does_not_go_together_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        figure(lambda text: stack("short") | change, rows=list("aba"), notes=None)


def test_a_stack_that_changes_its_size_is_refused():
    with pytest.raises(RuntimeError, match=r"text='long'.*the shapes are"):
        figure(lambda text: stack("short")["weights"][: 3 if text == "short" else 2], rows=list("aba"), notes=None)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"chosen": {"layer": 4}}, "layer from 1 to 3, got 4"),
        ({"chosen": {"layer": 0}}, "layer from 1 to 3, got 0"),
        ({"chosen": {"heads": [1, 2]}}, r"one head of each of the 3 layers, got heads=\[1, 2\]"),
        ({"chosen": {"heads": [1, 2, 5]}}, "heads from 1 to 4, got 5"),
        ({"chosen": {"row": 3}}, "row from 0 to 2, got 3"),
        ({"chosen": {"row": True}}, "row from 0 to 2, got True"),
        ({"chosen": {"token": 1}}, r"some of 'layer', 'heads' and 'row' to places, got keys \['token'\]"),
        ({"notes": ["one"] * 11}, "notes has 11 labels for 12 places"),
        ({"x_label": "layer"}, "x_label is no option of a figure of kind 'layers'"),
    ],
)
def test_choices_and_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        figure(**options)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_without_a_script_shows_the_chosen_head_of_each_layer(theme):
    made = figure()
    drawing, first = made.computation.drawing, made.computation.frame(made.start)
    from transformer_anatomy.page.plotting import plot_layers

    values = {name: torch.from_numpy(array) for name, array in first.arrays.items()}
    picture = plot_layers(values, alt="A stack", **drawing.options | first.labels)
    (axes,) = getattr(picture, theme).axes
    weights = first.arrays["weights"]
    for image, (layer, head) in zip(axes.images, enumerate(CHOSEN["heads"]), strict=True):
        np.testing.assert_allclose(image.get_array(), weights[layer, head - 1])
    strokes = [patch.get_linewidth() for patch in axes.patches if isinstance(patch, PathPatch)]
    rows = [weights[layer, head - 1, 2] for layer, head in enumerate(CHOSEN["heads"])]
    expected = [max(0.75, STROKE * w) for row in rows for w in row if w > 0.015]
    np.testing.assert_allclose(strokes, expected)


def test_the_script_of_the_kind_comes_first_and_only_where_it_is_needed(monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    alone = figure()._repr_html_()
    assert alone.index("var anatomyLayers") < alone.index("var anatomyExplore")
    other = explore(lambda n: torch.eye(2), **TEXTS, n=[1, 2])
    assert "var anatomyLayers" not in other._repr_html_()
    assert "var anatomyLayers" in other.widget._esm


def test_the_kernel_answers_with_the_notes_of_its_frame():
    question = {"type": "compute", "id": [1, 1], "controls": {"text": "long"}, "device": ""}
    answer, buffers = figure().widget.answer(question)
    assert answer["labels"] == {"rows": tuple(WORDS["long"]), "notes": tuple(notes("long"))}
    assert [len(buffer) // 4 for buffer in buffers] == [3 * 4 * 25, 3 * 4 * 5, 1, 4 * 25]
