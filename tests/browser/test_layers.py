"""A stack of layers in a browser: steered by keyboard and pointer, true to what was stored, on any width and paper."""

import math
import shutil

import pytest
import torch

from tests.browsing import controls, drawn, move
from tests.page.test_layers import CHOSEN, WORDS, figure, stack
from transformer_anatomy.page.assets import STATIC
from transformer_anatomy.page.plotting.themes import colours

KEYS = {"Layer": "ArrowLeft", "Row": "ArrowUp", "Head of layer 1": "ArrowRight", "Head of layer 3": "ArrowUp"}


@pytest.fixture(scope="module")
def made():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
        yield figure()


@pytest.fixture(scope="module")
def site(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("layers")
    for name in ("tokens.css", "explore.css", "explore.js", "layers.js"):
        shutil.copy(STATIC / name, folder / name)
    head = "".join(f'<link rel="stylesheet" href="{name}.css">' for name in ("tokens", "explore"))
    head += "".join(f'<script defer src="{name}.js"></script>' for name in ("layers", "explore"))
    body = f'<body style="margin: 0 8px">{made.figure()}</body>'
    (folder / "page.html").write_text(f'<!doctype html><html lang="en"><meta charset="utf-8">{head}{body}</html>')
    return folder


@pytest.fixture(params=["http", "file"])
def page(request, site, serve, visit):
    opened = visit(f"{serve(site) if request.param == 'http' else site.as_uri()}/page.html")
    yield opened
    assert (opened.outside, opened.errors) == ([], [])


@pytest.fixture
def local(site, visit):
    opened = visit(f"{site.as_uri()}/page.html")
    yield opened
    assert (opened.outside, opened.errors) == ([], [])


def chosen(opened, name):
    return opened.page.locator(f'fieldset[aria-label="{name}"] input:checked')


def readout(opened):
    return opened.page.locator(".readout").inner_text()


def said(values, layer, head, row, rows, notes):
    """What the figure should say, from the stored numbers."""
    weights = values["weights"][layer - 1, head - 1, row]
    twins = [place for place, word in enumerate(rows) if word == rows[row]]
    words = [f"“{word}”" if rows.count(word) == 1 else None for word in rows]
    for word in {word for word in rows if rows.count(word) > 1}:
        for count, place in enumerate(place for place, other in enumerate(rows) if other == word):
            words[place] = f"the {['first', 'second'][count]} “{word}”"
    assert row in twins
    best, spread = int(weights.argmax()), values["entropy, nats"][layer - 1, head - 1, row]
    told = f"Layer {layer}, head {head}: {words[row]} reads most from {words[best]} ({weights.max():.2f}), entropy "
    told += f"{spread:.2f} of {math.log(len(rows)):.2f} nats. Nearest after it: {notes}."
    return told


def test_every_group_moves_by_arrow_keys_and_the_picture_and_the_sentence_with_it(page):
    for name, key in KEYS.items():
        radio, before, words = chosen(page, name), drawn(page.figure("A finding")), readout(page)
        was = radio.get_attribute("aria-label")
        radio.focus()
        radio.press(key)
        assert chosen(page, name).get_attribute("aria-label") != was
        assert drawn(page.figure("A finding"))["marks"] != before["marks"], name
        assert readout(page) != words, name


def test_the_sentence_says_what_was_stored(local, made):
    values = made.frame(text="short")
    assert readout(local) == said(values, 2, 3, 2, WORDS["short"], "a2, more")
    chosen(local, "Row").press("ArrowUp")
    assert readout(local) == said(values, 2, 3, 1, WORDS["short"], "b2, more")
    chosen(local, "Head of layer 1").press("ArrowRight")  # which also goes to its layer
    assert readout(local) == said(values, 1, 2, 1, WORDS["short"], "b1, more")
    assert chosen(local, "Layer").get_attribute("aria-label") == "Layer 1"
    assert local.page.locator(".readout").get_attribute("aria-live") == "polite"


def test_a_group_is_one_tab_stop(local):
    controls(local.figure("A finding"))[0].focus()
    stops = []
    for _ in range(6):
        local.page.keyboard.press("Tab")
        stops.append(local.page.evaluate("document.activeElement.closest('fieldset, [role], summary').ariaLabel"))
    local.page.keyboard.press("Tab")
    assert local.page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert stops == ["The layers, left to right", "Row", "Layer", *(f"Head of layer {k}" for k in (1, 2, 3))]


def test_the_focused_choice_can_be_seen(local):
    chosen(local, "Head of layer 2").focus()
    local.page.keyboard.press("ArrowRight")
    style = "e => getComputedStyle(e.closest('label')).outline"
    assert chosen(local, "Head of layer 2").evaluate(style) == "rgb(10, 125, 145) solid 2px"


def test_strokes_bars_and_dots_are_drawn_at_their_values(local, made):
    values, row = made.frame(text="short"), CHOSEN["row"]
    rows = [values["weights"][layer, head - 1, row] for layer, head in enumerate(CHOSEN["heads"])]
    strokes = local.page.locator("path.stroke").evaluate_all("all => all.map(e => parseFloat(e.style.strokeWidth))")
    expected = [max(0.75, 16 * w) for row in rows for w in row.tolist() if w > 0.015]
    assert sorted(strokes) == pytest.approx(sorted(expected), abs=1e-3)
    bars = local.page.locator("rect.like").evaluate_all("all => all.map(e => +e.getAttribute('width') / 26)")
    assert bars == pytest.approx(values["cosine"][:, row].clamp(0, 1).flatten().tolist(), abs=1e-3)
    path = local.page.locator("path.curve").get_attribute("d")
    heights = [float(point.split(",")[1]) for point in path[1:].split("L")]
    spread = [values["entropy, nats"][layer, head - 1, row].item() for layer, head in enumerate(CHOSEN["heads"])]
    base = float(local.page.locator("path.baseline").get_attribute("d")[1:].split(",")[1].split("H")[0])
    top = math.log(5)  # of the longer text: a scale never changes with a control
    assert [base - height for height in heights] == pytest.approx(
        [52 * (v - math.log(3)) / top for v in spread], abs=1e-2
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_maps_have_the_colours_of_their_weights(site, visit, made, scheme):
    opened = visit(f"{site.as_uri()}/page.html", color_scheme=scheme)
    stops = torch.tensor([[int(colours(scheme)[f"w{k}"][i : i + 2], 16) for i in (1, 3, 5)] for k in range(5)])
    values = made.frame(text="short")["weights"]
    wanted = [*values.flatten(0, 1), *(values[layer, head - 1] for layer, head in enumerate(CHOSEN["heads"]))]
    pixels = drawn(opened.figure("A finding"))["pixels"]
    assert len(pixels) == len(wanted) == 3 * 4 + 3
    for (_, _, *shown), weights in zip(pixels, wanted, strict=True):
        place = weights.flatten().double() * 4
        low = place.long().clamp(max=3)
        colour = stops[low] + (stops[low + 1] - stops[low]) * (place - low)[:, None]
        torch.testing.assert_close(torch.tensor(shown).reshape(-1, 4)[:, :3].double(), colour, atol=1, rtol=0)


def test_a_longer_sentence_brings_its_own_rows_and_keeps_the_choice(local, made):
    move(controls(local.figure("A finding"))[0])
    assert {size for size, *_ in drawn(local.figure("A finding"))["pixels"]} == {5}  # the small maps, too
    names = local.page.locator(".tokens span").all_inner_texts()
    assert names == WORDS["long"]
    assert readout(local) == said(made.frame(text="long"), 2, 3, 2, WORDS["long"], "a2, more")
    chosen(local, "Row").press("ArrowDown")
    chosen(local, "Row").press("ArrowDown")
    move(controls(local.figure("A finding"))[0])  # back to three rows: the last of them
    assert chosen(local, "Row").get_attribute("aria-label") == "the second “a”"


def test_a_click_on_a_stream_a_map_or_a_small_map_chooses_it(local):
    body = local.page.locator(".body").bounding_box()
    stream = local.page.locator("path.stream").nth(1).bounding_box()
    local.page.mouse.click(body["x"] + 30, stream["y"])
    assert chosen(local, "Row").get_attribute("aria-label") == "“b”"
    box = local.page.locator(".layers .grid").nth(2).bounding_box()
    local.page.mouse.click(box["x"] + 5, box["y"] + box["height"] / 6)
    assert chosen(local, "Row").get_attribute("aria-label") == "the first “a”"
    assert chosen(local, "Layer").get_attribute("aria-label") == "Layer 3"
    local.page.locator(".thumbs label").nth(3).click()
    assert chosen(local, "Head of layer 1").get_attribute("aria-label") == "Layer 1, head 4"


def test_the_data_table_is_what_was_stored(local, made):
    local.page.locator("summary").click()
    rows = [row.locator("td").all_inner_texts() for row in local.page.locator(".data tr").all()[1:]]
    values, row = made.frame(text="short"), CHOSEN["row"]
    numbers = torch.tensor([[float(cell.replace("−", "-")) for cell in cells] for cells in rows[:3]])
    weights = [values["weights"][layer, head - 1, row] for layer, head in enumerate(CHOSEN["heads"])]
    expected = torch.stack([*weights, *values["cosine"][:, row]], dim=1)
    torch.testing.assert_close(numbers, expected, atol=0.00501, rtol=0)
    assert rows[3][:3] == [
        f"{values['entropy, nats'][layer, head - 1, row]:.2f}" for layer, head in enumerate(CHOSEN["heads"])
    ]
    assert rows[4][3:] == [f"a{place}, more" for place in range(4)]
    chosen(local, "Row").press("ArrowUp")
    assert local.page.locator(".data th").first.inner_text() == "“b” reads"


def test_choosing_moves_nothing_below(local):
    heights = set()
    for name, key in [(name, key) for name, key in KEYS.items() for _ in range(2)]:
        chosen(local, name).press(key)
        heights.add(local.page.locator(".picture").bounding_box()["height"])
    assert len(heights) == 1
    assert local.page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("width", [312, 390, 1200])
def test_on_a_narrow_page_the_layers_scroll_and_the_names_stay(site, visit, width):
    opened = visit(f"{site.as_uri()}/page.html", viewport={"width": width, "height": 900})
    opened.page.add_style_tag(content=".explore { --sans: 'DejaVu Sans' }")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    layers, side = opened.page.locator(".layers"), opened.page.locator(".layers .side")
    layers.evaluate("e => { e.scrollLeft = 1000; }")
    assert (layers.evaluate("e => e.scrollLeft") > 0) == (width < 350)
    assert side.bounding_box()["x"] == layers.bounding_box()["x"]
    last = opened.page.locator('fieldset[aria-label="Head of layer 3"]').bounding_box()
    assert last["x"] + last["width"] <= layers.bounding_box()["x"] + layers.bounding_box()["width"] + 1


def test_without_a_script_the_picture_of_the_start_stands_there(site, visit):
    opened = visit(f"{site.as_uri()}/page.html", java_script_enabled=False)
    picture = opened.page.locator(".picture img:visible")
    assert picture.count() >= 1
    assert picture.first.get_attribute("alt") == "What is to be seen"
    assert stack("short")["weights"].shape == (3, 4, 3, 3)
