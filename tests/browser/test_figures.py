"""The figures in a browser, as a reader gets them: from a server and from disk, with keyboard, without a network."""

import math
import shutil
from pathlib import Path

import pytest
import torch

from tests.browsing import controls, drawn, move
from transformer_anatomy import explore, linspace, logspace
from transformer_anatomy.page.assets import STATIC

TOKENS = ["she", "poured", "the", "water"]
STICKING_OUT = """figure => {
  const { right } = figure.getBoundingClientRect(), parts = [...figure.querySelectorAll("svg *, canvas, label")];
  return parts.filter(part => part.getBoundingClientRect().right > right + 1).map(part => part.outerHTML);
}"""
NASTY = "a \"b\" 'c' </script><script>window.hacked = 1</script> & <i>"


def scores(n: int) -> torch.Tensor:
    return torch.randn(n, n, generator=torch.Generator().manual_seed(n))


def entropy(weights: torch.Tensor) -> torch.Tensor:
    return -(weights * weights.log()).sum(-1)


def attention(temperature, head):
    weights = (scores(4) * (1 + head.count("2")) / temperature).softmax(-1)
    return {"weight": weights, "entropy, nats": entropy(weights), "uniform": torch.tensor(4.0).log()}


def layers(n, causal):
    hidden = ~torch.ones(n, n).tril().bool() if causal else torch.zeros(n, n).bool()
    return {f"layer {k}": (k * scores(n)).masked_fill(hidden, -1e9).softmax(-1) for k in (1, 2, 3)}


def cross(sharp):
    return torch.tensor([[1.0, 0, 0], [0.25, 0.5, 0.25]]) if sharp else torch.full((2, 3), 1 / 3)


def depth(tokens, spread):
    middle = torch.tensor([0.9, 0.5, 0.6, 0.8]) * math.log(tokens)
    band = torch.stack([middle - spread, middle, middle + spread])
    return {"median head": band, "uniform": math.log(tokens), "here": torch.tensor([2.0, spread])}


def weights_of_three(temperature):
    weights = (torch.tensor([2.0, 1.0, 0.0]) / temperature).softmax(-1)
    return {"softmax": weights, "hard": torch.eye(3)[0] / temperature.__ceil__(), "uniform": torch.tensor(1 / 3)}


def figures() -> dict[str, object]:
    of_four = {"rows": TOKENS, "columns": TOKENS}
    made = [
        explore(
            attention,
            title="A map with its strip",
            alt="Four by four weights",
            caption="Made *here*.",
            readout=lambda values, temperature, head: f"Mean {values['entropy, nats'].mean():.4f} at {temperature:g}.",
            temperature=logspace(0.1, 10, 11, start=1),
            head=["head 1", "head 2"],
            **of_four,
        ),
        explore(layers, title="Maps that change their size", alt="Three maps", n=[4, 8, 16], causal=[False, True]),
        explore(cross, title="Two rows and three columns", alt="A map", sharp=[True, False]),
        explore(
            depth,
            title="Curves in a band",
            alt="A curve over layers",
            kind="lines",
            x=[f"layer {k}" for k in range(1, 5)],
            y_label="entropy, nats",
            baselines=("uniform",),
            points=("here",),
            readout=lambda values, tokens, spread: f"{tokens} tokens, spread {spread:.2f}.",
            tokens=[16, 32, 64, 128],
            spread=linspace(0.1, 0.5, 5),
        ),
        explore(
            weights_of_three,
            title="Bars beside each other",
            alt="Two times three bars",
            kind="bars",
            columns=["water", "she", "poured"],
            baselines=("uniform",),
            temperature=logspace(0.1, 10, 11, start=1),
        ),
        explore(
            lambda word: {"one": torch.tensor([len(word) / 200, 0.5]), "two": torch.tensor([0.1, 0.2])},
            title=f"Words that could break a page: {NASTY}",
            alt=NASTY,
            caption=NASTY,
            labels={"word": NASTY},
            readout=lambda values, word: f"Chosen: {word}",
            y_label=NASTY,
            word=["plain", NASTY],
        ),
    ]
    return {figure.texts["title"]: figure for figure in made}


TITLES = ["A map with its strip", "Maps that change their size", "Two rows and three columns", "Curves in a band"]
TITLES += ["Bars beside each other", "Words that could break a page"]


def write(path: Path, body: str, head: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>{head}<body>{body}</body>')


@pytest.fixture(scope="module")
def made():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
        yield figures()


@pytest.fixture(scope="module")
def site(made, tmp_path_factory):
    """A page with one figure of every sort in a subfolder, as the book has them; one with a frozen script; and more."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("tokens.css", "explore.css", "explore.js"):
        shutil.copy(STATIC / name, folder / name)
    body = "".join(figure.figure() for figure in made.values())
    styles = '<link rel="stylesheet" href="../tokens.css"><link rel="stylesheet" href="../explore.css">'
    write(folder / "chapters" / "page.html", body, f'{styles}<script defer src="../explore.js"></script>')
    script = (folder / "explore.js").read_text()
    for name, call in {
        "frozen": "drawing.draw(frame, picture.clientWidth);",
        "stuck": ".putImageData(image, 0, 0);",
    }.items():
        assert script.count(call) == 1
        once = f"if (!root.dataset.once) {{ root.dataset.once = 1; {call} }}" if name == "frozen" else ";"
        (folder / f"{name}.js").write_text(script.replace(call, once))
        write(folder / "chapters" / f"{name}.html", body, f'{styles}<script defer src="../{name}.js"></script>')
    return folder


@pytest.fixture(scope="module")
def http_address(site, serve):
    return serve(site)


@pytest.fixture(params=["http", "file"])
def page(request, site, http_address, visit):
    """The page over http and from disk; whatever a test does there, nothing outside is asked for and nothing fails."""
    base = http_address if request.param == "http" else site.as_uri()
    opened = visit(f"{base}/chapters/page.html")
    yield opened
    assert opened.outside == []
    assert opened.errors == []


@pytest.fixture
def local(site, visit):
    opened = visit(f"{site.as_uri()}/chapters/page.html")
    yield opened
    assert (opened.outside, opened.errors) == ([], [])


@pytest.mark.parametrize("title", TITLES)
def test_every_control_changes_what_is_drawn(page, title):
    figure = page.figure(title)
    for control in controls(figure):
        before = drawn(figure)
        move(control)
        after = drawn(figure)
        part = "pixels" if before["pixels"] else "marks"
        assert after[part] != before[part]


@pytest.mark.parametrize("page_name, part", [("frozen", "marks"), ("stuck", "pixels")])
def test_the_probe_notices_a_slider_over_a_frozen_picture(site, visit, page_name, part):
    figure = visit(f"{site.as_uri()}/chapters/{page_name}.html").figure(TITLES[0])
    before, readout = drawn(figure), figure.locator(".readout").inner_text()
    move(controls(figure)[0])
    assert figure.locator(".readout").inner_text() != readout
    assert drawn(figure)[part] == before[part]


def test_the_readout_moves_with_the_picture(local):
    figure = local.figure(TITLES[0])
    move(controls(figure)[0])
    assert "at 1.585" in figure.locator(".readout").inner_text()
    assert figure.locator("output").inner_text() == "1.58"


def table(figure) -> list[list[str]]:
    rows = figure.locator(".data tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def columns(explorer, settings) -> list[torch.Tensor]:
    """The columns of the data table as the stored frame has them."""
    stored, marks = explorer.frame(**settings), explorer.computation.drawing.marks
    stored = stored if isinstance(stored, dict) else {"": stored}
    tables = {"map": lambda t: t.unbind(1), "band": lambda t: t.unbind(0), "level": lambda t: [], "point": lambda t: []}
    return [column for name, tensor in stored.items() for column in tables.get(marks[name], lambda t: [t])(tensor)]


@pytest.mark.parametrize("title", TITLES[:5])
def test_what_is_drawn_is_what_was_stored(local, made, title):
    figure, explorer = local.figure(title), made[title]
    figure.locator("summary").click()
    for settings in explorer.settings[:: max(1, len(explorer.settings) // 6)]:
        for control, (name, grid) in zip(controls(figure), explorer.controls.items(), strict=True):
            place = str(grid.values.index(settings[name]))
            control.evaluate("(element, v) => { element.value = v; element.dispatchEvent(new Event('input')); }", place)
        shown = [[float(cell.replace("−", "-")) for cell in row[1:]] for row in table(figure)[1:]]
        stored = [column.expand(len(shown)) for column in columns(explorer, settings)]
        torch.testing.assert_close(torch.tensor(shown), torch.stack(stored, dim=1), atol=0.00501, rtol=0)


def test_a_map_of_two_rows_and_three_columns_shows_two_rows(local):
    ((width, height, *pixels),) = drawn(local.figure(TITLES[2]))["pixels"]
    assert (width, height) == (3, 2)
    red = torch.tensor(pixels).reshape(2, 3, 4)[..., 0]
    assert red[0].tolist() == [0x3A, 0xFF, 0xFF]
    assert red[1, 1] == 0xAE and red[1, 0] == red[1, 2] == 0xD9


def test_figures_do_not_disturb_each_other(local):
    first, others = local.figure(TITLES[0]), [local.figure(title) for title in TITLES[1:]]
    before = [(drawn(figure), figure.inner_text()) for figure in others]
    for control in controls(first):
        move(control)
    assert [(drawn(figure), figure.inner_text()) for figure in others] == before


def test_every_id_is_unique_and_every_reference_meets_one(local):
    ids = local.page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids)) == 2 * len(TITLES)
    wanted = local.page.evaluate("[...document.querySelectorAll('figure')].map(f => f.getAttribute('aria-labelledby'))")
    assert set(wanted) <= set(ids)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_a_script_the_first_frame_stands_there_as_a_picture(site, visit, scheme):
    opened = visit(f"{site.as_uri()}/chapters/page.html", java_script_enabled=False, color_scheme=scheme)
    for title in TITLES:
        figure = opened.figure(title)
        images = [image for image in figure.locator(".picture img").all() if image.is_visible()]
        assert images
        assert all(image.bounding_box()["height"] > 40 for image in images)
        assert not figure.locator(".controls").is_visible()
        assert figure.locator("noscript").is_visible()
    assert (opened.outside, opened.errors) == ([], [])


def test_the_theme_is_followed_at_once(local):
    figure = local.figure(TITLES[0])
    light = drawn(figure)
    for switch, back in [
        ("document.documentElement.dataset.theme = 'dark'", "delete document.documentElement.dataset.theme"),
        (
            "document.body.setAttribute('data-jp-theme-light', 'false')",
            "document.body.setAttribute('data-jp-theme-light', 'true')",
        ),
    ]:
        local.page.evaluate(switch)
        local.page.wait_for_timeout(20)
        dark = drawn(figure)
        assert dark["pixels"] != light["pixels"]
        local.page.evaluate(back)
        local.page.wait_for_timeout(20)
        assert drawn(figure) == light
    local.page.emulate_media(color_scheme="dark")
    local.page.evaluate("document.body.removeAttribute('data-jp-theme-light')")
    local.page.wait_for_timeout(50)
    assert drawn(figure)["pixels"] == dark["pixels"]


def test_cells_are_chosen_by_arrow_keys_from_one_tab_stop(local):
    figure, page = local.figure(TITLES[0]), local.page
    controls(figure)[-1].focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "map"
    page.evaluate("window.keys = 0; document.addEventListener('keydown', () => { window.keys += 1; })")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowUp")
    before = drawn(figure)
    assert figure.locator(".readout").inner_text().endswith("to “she”.")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "“poured” gives " in figure.locator(".readout").inner_text()
    assert figure.locator(".readout").inner_text().endswith("to “poured”.")
    assert drawn(figure)["marks"] != before["marks"]
    assert page.evaluate("window.keys") == 0
    assert page.evaluate("scrollY") == 0
    assert figure.locator(".chosen").evaluate("e => getComputedStyle(e).strokeWidth") == "4px"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_cells_are_chosen_by_pointer(local):
    figure = local.figure(TITLES[1])
    second = figure.locator("canvas").nth(1).bounding_box()
    n = 8
    local.page.mouse.click(second["x"] + second["width"] * 2.5 / n, second["y"] + second["height"] * 4.5 / n)
    said = figure.locator(".readout").inner_text()
    assert said.startswith("Query 5 gives ") and said.endswith(" to key 3.")
    assert said.count("(layer") == 3


def test_names_and_values_are_there_for_a_screen_reader(local, made):
    figure = local.figure(TITLES[0])
    slider, menu = controls(figure)
    assert slider.get_attribute("aria-label") == "Temperature"
    assert slider.get_attribute("aria-valuetext") == "1.00"
    assert menu.get_attribute("aria-label") == "Head"
    assert figure.locator("svg").get_attribute("role") == "img"
    assert figure.locator("svg").get_attribute("aria-label") == "Four by four weights"
    assert figure.locator(".readout").get_attribute("aria-live") == "polite"
    assert figure.locator(".map").get_attribute("aria-label") == "queries down, keys across: arrow keys choose a cell"
    assert figure.get_attribute("aria-labelledby") == figure.locator(".title").get_attribute("id")
    move(slider)
    assert slider.get_attribute("aria-valuetext") == "1.58"


def test_the_data_table_is_filled_when_it_is_opened(local):
    figure = local.figure(TITLES[0])
    assert table(figure) == []
    figure.locator("summary").click()
    assert table(figure)[0] == ["", *TOKENS, "entropy, nats"]
    before = table(figure)
    move(controls(figure)[0])
    assert table(figure) != before


def test_words_cannot_break_the_page(local):
    figure = local.figure(TITLES[5])
    move(controls(figure)[0])
    assert figure.locator(".readout").inner_text() == f"Chosen: {NASTY}"
    assert figure.locator("svg[role=img]").get_attribute("aria-label") == NASTY
    assert figure.locator("figcaption").inner_text() == NASTY
    assert local.page.evaluate("window.hacked") is None


@pytest.mark.parametrize("width", [312, 1200])
def test_nothing_sticks_out_of_a_narrow_column(site, visit, width):
    opened = visit(f"{site.as_uri()}/chapters/page.html", viewport={"width": width, "height": 900})
    opened.page.add_style_tag(content="body { font-family: Verdana, 'DejaVu Sans' } .explore { --sans: 'DejaVu Sans' }")
    for title in TITLES[:5]:
        figure = opened.figure(title)
        for control in controls(figure):
            move(control)
        assert figure.evaluate(STICKING_OUT) == []
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_figure_is_drawn_again_at_another_width(local):
    figure = local.figure(TITLES[3])
    local.page.evaluate("window.failed = 0; addEventListener('error', () => { window.failed += 1; })")
    widths = []
    for width in (900, 400, 700):
        local.page.set_viewport_size({"width": width, "height": 900})
        local.page.wait_for_timeout(50)
        widths.append(figure.locator("svg.plot").evaluate("plot => +plot.getAttribute('width')"))
    assert widths[0] > widths[2] > widths[1]
    assert local.page.evaluate("failed") == 0


def test_nothing_is_animated(local):
    move(controls(local.figure(TITLES[0]))[0])
    assert local.page.evaluate("document.getAnimations().length") == 0


def test_figures_number_themselves(local):
    numbers = local.page.evaluate(
        "[...document.querySelectorAll('.explore .title')].map(e => getComputedStyle(e, '::before').content)"
    )
    assert numbers == ['"Figure " counter(explore)'] * len(TITLES)


def test_outside_the_book_a_figure_brings_script_and_style_along(tmp_path, visit, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    figure = explore(cross, title="Alone", alt="A map", sharp=[True, False])
    write(tmp_path / "alone.html", "<p>text</p>".join(figure._repr_html_() for _ in range(3)))
    opened = visit((tmp_path / "alone.html").as_uri())
    assert opened.page.locator("figure canvas").count() == 3
    for place in range(3):
        one = opened.page.locator("figure").nth(place)
        before = drawn(one)
        move(controls(one)[0])
        assert drawn(one)["pixels"] != before["pixels"]
    assert (opened.outside, opened.errors) == ([], [])
