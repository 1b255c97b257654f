import json
import re
from unittest.mock import MagicMock

import pytest
import torch
from sphinx.application import Sphinx

from transformer_anatomy import explore
from transformer_anatomy.page import deferred, plotting

SPEC = re.compile(r'<script type="application/vnd.explore\+json">(.*?)</script>', re.DOTALL)


def figure():
    return explore(
        lambda n, scale: {"a": torch.arange(float(n)) * scale, "b": torch.tensor(0.5)},
        title="t",
        alt="a < b",
        kind="lines",
        baselines=["b"],
        x=lambda n, scale: list(range(n)),
        readout=lambda values, n, scale: f"{n} at {scale} < 9",
        scale=[1.0, 2.0, 3.0],
        n=[4, 8],
    )


@pytest.fixture
def moved(tmp_path, monkeypatch):
    """The body of a page whose figure and picture were moved out, the figure's own data, and the app."""
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    markup = figure().figure()
    picture = plotting.plot_heatmap(torch.eye(3), alt="a map")._repr_mimebundle_()["text/html"]
    app = MagicMock(spec=Sphinx, builder=MagicMock(format="html"), outdir=tmp_path)
    context = {"body": f"<p>before</p>{markup}<p>between</p>{picture}", "pathto": lambda name, resource: f"../{name}"}
    deferred._defer(app, "book/page", "page.html", context, None)
    return context["body"], json.loads(SPEC.search(markup)[1]), app


def pick(stored, place):
    return stored["items"][stored["places"][place] if "places" in stored else 0]


def test_the_page_keeps_the_first_frame_for_every_setting(moved):
    body, spec, _ = moved
    first = json.loads(SPEC.search(body)[1])
    start = 0
    for control in spec["controls"]:
        start = start * len(control["values"]) + control["start"]
    for place in range(6):
        assert pick(first["readouts"], place) == pick(spec["readouts"], start)
        assert pick(first["labels"]["x"], place) == pick(spec["labels"]["x"], start)
        for entry, whole in zip(first["entries"], spec["entries"], strict=True):
            assert pick(entry["data"], place) == pick(whole["data"], start)
            assert {**entry, "data": 0} == {**whole, "data": 0}


def test_all_frames_stand_in_a_script_beside_the_page(moved):
    body, spec, app = moved
    (address,) = re.findall(r'data-frames="\.\./([^"]*\.js)"', body)
    script = (app.outdir / address).read_text(encoding="utf-8")
    assert "<" not in script
    stored = json.loads(script.removeprefix("document.currentScript.receive(").removesuffix(")"))
    assert stored == {name: spec[name] for name in ("entries", "labels", "readouts")}


def test_a_figure_is_drawn_as_soon_as_the_page_is_read_up_to_it(moved):
    body, _, _ = moved
    assert body.index("vnd.explore+json") < body.index(deferred.MOUNT) < body.index("</figure>")
    assert body.count(deferred.MOUNT) == 1


def test_pictures_stand_beside_the_page_in_files_that_keep_their_place_free(moved):
    body, _, app = moved
    assert "data:image" not in body
    images = re.findall(r"<(?:img|source)[^>]*>", body)
    assert len(images) >= 4  # light and dark, of the figure and of the picture
    for image in images:
        assert re.search(r'\bwidth="[\d.]+" height="[\d.]+"', image)
        (address,) = re.findall(r'(?:src|srcset)="\.\./([^"]*\.svg)"', image)
        assert (app.outdir / address).read_text(encoding="utf-8").startswith("<svg")
        assert image.startswith("<source") or 'loading="lazy"' in image


def test_what_no_page_names_any_more_is_removed(moved):
    body, _, app = moved
    (app.outdir / "page.html").write_text(body, encoding="utf-8")
    folder = app.outdir / deferred.FOLDER
    kept = sorted(file.name for file in folder.iterdir())
    (folder / "old.svg").write_text("<svg/>")
    deferred._remove_what_no_page_names(app, None)
    assert sorted(file.name for file in folder.iterdir()) == kept and len(kept) > 3
