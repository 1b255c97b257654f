"""The figures in a browser, as a reader gets them: from a server and from disk, with keyboard, without a network."""

import math
import shutil
from pathlib import Path

import pytest
import torch

from tests.browsing import controls, drawn, move
from transformer_anatomy import explore, linspace, logspace
from transformer_anatomy.page.assets import STATIC
from transformer_anatomy.page.plotting.heatmap import SCALES
from transformer_anatomy.page.plotting.themes import colours

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


def differences(scale):
    return {"8": scale * torch.tensor([[-1.0, 0.25, 0.5], [0.75, -0.5, 0.0]]), "64": torch.zeros(2, 3)}


WIDTHS = [4, 16, 64, 256, 1024]


def climbing(rate, flip):
    x = torch.tensor(WIDTHS).log()
    curves = {"steep": (rate * x / 7).tanh(), "gentle": 0.3 * x / 7, "none": 0.1, "half": 0.12 * x}
    here = torch.tensor([100.0, 0.1 * rate])
    return (dict(reversed(curves.items())) if flip else curves) | {
        "here": here,
        "there": here + torch.tensor([20.0, 0.05]),
    }


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
        explore(
            cross,
            title="Two rows and three columns",
            alt="A map",
            rows=["a", "b"],
            columns=["x", "y", "z"],
            sharp=[True, False],
        ),
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
            differences,
            title="Maps with a sign",
            alt="Two maps",
            colors="signed",
            range=(-1, 1),
            row_label="heads",
            column_label="layers",
            scale=[0.25, 0.5, 1.0],
        ),
        explore(
            lambda rate: climbing(rate, False),
            title="Curves on a logarithmic axis",
            alt="Two curves, two baselines, two points",
            kind="lines",
            x=WIDTHS,
            x_scale="log",
            range=(0, 1),
            baselines=("none", "half"),
            points=("here", "there"),
            rate=[1, 3, 9],
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
TITLES += [
    "Bars beside each other",
    "Words that could break a page",
    "Maps with a sign",
    "Curves on a logarithmic axis",
]


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
        "frozen": "svg.replaceChildren(...drawn);",
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


def test_sliders_write_numbers_without_noise_and_with_as_many_digits_as_tell_them_apart(visit, tmp_path, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    grids = {
        "temperature": logspace(0.05, 20, 3),
        "width": [4, 64, 1024, 1_000_000],
        "near": [100.0, 100.001, 100.002],
        "share": linspace(0, 1, 5),
        "large": [1020.4, 2000.0, 5000.0],
        "below": [-2, -1],
    }
    shown = {
        "temperature": ["0.05", "1", "20"],
        "width": ["4", "64", "1024", "1000000"],
        "near": ["100", "100.001", "100.002"],
        "share": ["0", "0.25", "0.5", "0.75", "1"],
        "large": ["1020", "2000", "5000"],
        "below": ["−2", "−1"],
    }
    body = ""
    for name, grid in grids.items():
        body += explore(lambda **_: torch.eye(2), title=name, alt="a", **{name: grid})._repr_html_()
    write(tmp_path / "sliders.html", body)
    opened = visit((tmp_path / "sliders.html").as_uri())
    for name, texts in shown.items():
        figure = opened.figure(name)
        slider, found = controls(figure)[0], []
        for place in range(len(texts)):
            slider.fill(str(place))
            found.append(figure.locator("output").inner_text())
        assert found == texts
        assert slider.get_attribute("aria-valuetext") == texts[-1]


def table(figure) -> list[list[str]]:
    rows = figure.locator(".data tr").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def columns(explorer, settings) -> list[torch.Tensor]:
    """The columns of the data table as the stored frame has them."""
    stored, marks = explorer.frame(**settings), explorer.computation.drawing.marks
    stored = stored if isinstance(stored, dict) else {"": stored}
    tables = {"map": lambda t: t.unbind(1), "band": lambda t: t.unbind(0), "level": lambda t: [], "point": lambda t: []}
    return [column for name, tensor in stored.items() for column in tables.get(marks[name], lambda t: [t])(tensor)]


STORED = [title for title in TITLES if "break" not in title]


def set_controls(figure, explorer, settings) -> None:
    for control, (name, grid) in zip(controls(figure), explorer.controls.items(), strict=True):
        place = str(grid.values.index(settings[name]))
        control.evaluate("(element, v) => { element.value = v; element.dispatchEvent(new Event('input')); }", place)


def entries(explorer, settings) -> dict[str, torch.Tensor]:
    stored = explorer.frame(**settings)
    return stored if isinstance(stored, dict) else {"": stored}


@pytest.mark.parametrize("title", STORED)
def test_the_data_table_is_what_was_stored(local, made, title):
    figure, explorer = local.figure(title), made[title]
    figure.locator("summary").click()
    for settings in explorer.settings[:: max(1, len(explorer.settings) // 6)]:
        set_controls(figure, explorer, settings)
        shown = [[float(cell.replace("−", "-")) for cell in row[1:]] for row in table(figure)[1:]]
        stored = [column.expand(len(shown)) for column in columns(explorer, settings)]
        torch.testing.assert_close(torch.tensor(shown), torch.stack(stored, dim=1), atol=0.00501, rtol=0)


# What is drawn, read back from pixels by the texts of the axes


def tokens_at(values: torch.Tensor, theme: str, scale: str) -> torch.Tensor:
    """The colours (row, column, 3) between the tokens of a scale from 0 to 1."""
    stops = torch.tensor([[int(colours(theme)[token][k : k + 2], 16) for k in (1, 3, 5)] for token in SCALES[scale]])
    place = values.double() * (len(stops) - 1)
    lower = place.long().clamp(max=len(stops) - 2)
    return stops[lower] + (stops[lower + 1] - stops[lower]) * (place - lower)[..., None]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("title", [title for title in STORED if "ap" in title.split()[0] or "rows" in title])
def test_the_cells_of_a_map_have_the_colours_of_their_values(site, visit, made, title, scheme):
    figure = visit(f"{site.as_uri()}/chapters/page.html", color_scheme=scheme).figure(title)
    explorer = made[title]
    low, high = (-1, 1) if "sign" in title else (0, 1)
    for settings in explorer.settings[:: max(1, len(explorer.settings) // 4)]:
        set_controls(figure, explorer, settings)
        maps = [tensor for tensor in entries(explorer, settings).values() if tensor.ndim == 2]
        for (width, height, *pixels), values in zip(drawn(figure)["pixels"], maps, strict=True):
            shown = torch.tensor(pixels).reshape(height, width, 4)[..., :3].double()
            wanted = tokens_at((values - low) / (high - low), scheme, "signed" if low else "weights")
            torch.testing.assert_close(shown, wanted, atol=1, rtol=0)


AXES = """figure => {
  const all = selector => [...figure.querySelectorAll(selector)];
  const at = (e, ...names) => names.map(name => +e.getAttribute(name)), words = e => e.textContent.replace("−", "-");
  const ticks = (selector, place) => all(selector).map(e => [place(...at(e, "x", "y")), words(e)])
    .filter(([, words]) => words.trim() && !isNaN(words)).map(([pixel, words]) => [pixel, +words]);
  const paths = cls => all(`path.${cls}`).map(e => e.getAttribute("d").match(/-?[0-9.e-]+/g).map(Number));
  return {
    x: ticks("svg text.quiet.mid", x => x), y: ticks("svg text.quiet.end", (x, y) => y - 4),
    curve: paths("curve"), baseline: paths("baseline"), band: paths("band"),
    circles: all("circle.dot").map(e => at(e, "cx", "cy")),
    columns: all("rect.column").map(e => at(e, "x", "y", "width", "height")),
  };
}"""


def straight(pairs):
    """The function through the first and the last of pairs (pixel, value)."""
    (a, u), (b, v) = pairs[0], pairs[-1]
    return lambda pixel: u + (v - u) * (pixel - a) / (b - a)


def points_of(path, at):
    return [at(pixel) for pixel in path[1::2]]


@pytest.mark.parametrize("title", ["Curves on a logarithmic axis", "Curves in a band"])
def test_curves_points_and_baselines_are_drawn_at_their_values(local, made, title):
    figure, explorer = local.figure(title), made[title]
    for settings in explorer.settings[:: max(1, len(explorer.settings) // 5)]:
        set_controls(figure, explorer, settings)
        found, values = figure.evaluate(AXES), entries(explorer, settings)
        y = straight(found["y"])
        step = abs(y(0) - y(1)) / 2  # half a pixel
        if title.endswith("axis"):
            x = straight([(pixel, math.log(value)) for pixel, value in found["x"]])
            assert [round(math.exp(x(pixel))) for pixel in found["curve"][0][::2]] == WIDTHS
            for curve in ("steep", "gentle"):
                assert any(
                    points_of(path, y) == pytest.approx(values[curve].tolist(), abs=step) for path in found["curve"]
                )
            first, second = found["baseline"]
            assert points_of(first, y) == pytest.approx([values["none"].item()] * 5, abs=step)
            assert points_of(second, y) == pytest.approx(values["half"].tolist(), abs=step)
            dots = [(math.exp(x(cx)), y(cy)) for cx, cy in found["circles"][-2:]]
            assert dots == [pytest.approx(values[name].tolist(), rel=0.02) for name in ("here", "there")]
        else:
            lower, middle, upper = values["median head"].tolist()
            assert points_of(found["curve"][0], y) == pytest.approx(middle, abs=step)
            assert points_of(found["band"][0], y) == pytest.approx(upper + lower[::-1], abs=step)
            assert points_of(found["baseline"][0], y) == pytest.approx([values["uniform"].item()] * 4, abs=step)
            places = found["curve"][0][::2]
            x = straight([(places[0], 0), (places[-1], 3)])  # the numbers of the layers
            assert [x(found["circles"][-1][0]), y(found["circles"][-1][1])] == pytest.approx(
                values["here"].tolist(), abs=0.02
            )


def test_bars_and_their_baseline_are_drawn_at_their_values(local, made):
    figure, explorer = local.figure("Bars beside each other"), made["Bars beside each other"]
    for settings in explorer.settings:
        set_controls(figure, explorer, settings)
        found, values = figure.evaluate(AXES), entries(explorer, settings)
        y = straight(found["y"][:2])
        bars = torch.cat([values["softmax"], values["hard"]]).tolist()
        assert [y(top) for _, top, _, _ in found["columns"]] == pytest.approx(bars, abs=0.004)
        assert [y(top + height) for _, top, _, height in found["columns"]] == pytest.approx([0] * 6, abs=1e-6)
        assert [y(path[1]) for path in found["baseline"]] == pytest.approx([1 / 3] * 2, abs=1e-3)


STRUCK = """figure => {
  const box = element => element.getBoundingClientRect();
  const heights = [...figure.querySelectorAll(".baseline")].map(line => box(line).top);
  return [...figure.querySelectorAll("text.halo.mid")]
    .filter(text => heights.some(y => y > box(text).top + 3 && y < box(text).bottom - 4)).map(text => text.textContent);
}"""


@pytest.mark.parametrize("width", [390, 1000])
def test_no_baseline_strikes_the_number_of_a_bar_through(site, visit, made, width):
    opened = visit(f"{site.as_uri()}/chapters/page.html", viewport={"width": width, "height": 900})
    figure, explorer = opened.figure("Bars beside each other"), made["Bars beside each other"]
    for settings in explorer.settings:
        set_controls(figure, explorer, settings)
        assert figure.evaluate(STRUCK) == [], settings


def test_many_bars_that_print_as_zero_stand_without_their_number(tmp_path, visit, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    for n, numbers in [(3, ["1.00", "0.00", "0.00"]), (13, ["1.00"])]:
        figure = explore(lambda scale, n=n: torch.eye(n)[0] / scale, title="t", alt="a", range=(0, 1), scale=[1.0, 2.0])
        write(tmp_path / f"{n}.html", figure._repr_html_())
        opened = visit((tmp_path / f"{n}.html").as_uri(), viewport={"width": 700, "height": 600})
        controls(opened.figure("t"))[0].fill("0")
        assert opened.page.locator("text.halo.mid").all_text_contents() == numbers


OVERLAPS = """figure => {
  const boxes = [...figure.querySelectorAll(".picture svg text")].filter(t => t.textContent.trim())
    .map(t => ({ words: t.textContent, ...t.getBoundingClientRect().toJSON() }));
  const pairs = boxes.flatMap((a, i) => boxes.slice(i + 1).map(b => [a, b]));
  const apart = (a, b) => a.left > b.right - 1 || a.top > b.bottom - 3;
  return pairs.filter(([a, b]) => !apart(a, b) && !apart(b, a)).map(([a, b]) => `${a.words} | ${b.words}`);
}"""


@pytest.mark.parametrize("width", [330, 390, 760, 1200])
def test_no_two_texts_touch(site, visit, made, width):
    opened = visit(f"{site.as_uri()}/chapters/page.html", viewport={"width": width, "height": 900})
    for title in STORED:
        figure, explorer = opened.figure(title), made[title]
        for settings in explorer.settings[:: max(1, len(explorer.settings) // 8)]:
            set_controls(figure, explorer, settings)
            assert figure.evaluate(OVERLAPS) == [], (title, settings)


def test_where_not_every_tick_fits_they_are_left_out_evenly(tmp_path, visit, monkeypatch):
    monkeypatch.delenv("TRANSFORMER_ANATOMY_BOOK", raising=False)
    x = range(1000, 13000, 1000)
    figure = explore(lambda scale: {"a": torch.rand(12) * scale}, title="t", alt="a", kind="lines", x=x, scale=[1, 2])
    write(tmp_path / "ticks.html", figure._repr_html_())
    opened = visit((tmp_path / "ticks.html").as_uri(), viewport={"width": 420, "height": 600})
    ticks = [value for _, value in opened.figure("t").evaluate(AXES)["x"]]
    assert ticks == list(x)[:: round((ticks[1] - ticks[0]) / 1000)] and len(ticks) < 12
    assert opened.figure("t").evaluate(OVERLAPS) == []


def test_a_map_of_two_rows_and_three_columns_shows_two_rows(local):
    ((width, height, *pixels),) = drawn(local.figure(TITLES[2]))["pixels"]
    assert (width, height) == (3, 2)
    red = torch.tensor(pixels).reshape(2, 3, 4)[..., 0]
    assert red[0].tolist() == [0x3A, 0xFF, 0xFF]
    assert red[1, 1] == 0xAE and red[1, 0] == red[1, 2] == 0xD9


def test_the_outline_of_a_chosen_row_covers_no_cell(local):
    outlines = local.page.locator("figure.explore .row")
    assert set(outlines.evaluate_all("all => all.map(each => getComputedStyle(each).fill)")) == {"none"}
    assert local.figure("Maps with a sign").locator(".row").count() == 2


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


def test_cells_are_chosen_by_arrow_keys_from_one_tab_stop(local, made):
    figure, page, explorer = local.figure(TITLES[0]), local.page, made[TITLES[0]]
    controls(figure)[-1].focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "map"
    page.evaluate("window.keys = 0; document.addEventListener('keydown', () => { window.keys += 1; })")
    row = explorer.frame()["weight"][1]
    strongest = int(row.argmax())

    def said():
        return figure.locator(".readout").inner_text().partition("1. ")[2]

    before = drawn(figure)
    assert said() == f"“poured” gives {row[strongest]:.2f} to “{TOKENS[strongest]}”."
    for key, column in [("Home", 0), ("ArrowRight", 1), ("End", 3), ("ArrowRight", 3), ("ArrowLeft", 2)]:
        page.keyboard.press(key)
        assert said() == f"“poured” gives {row[column]:.2f} to “{TOKENS[column]}”."
    assert drawn(figure)["marks"] != before["marks"]
    for key, at in [("ArrowDown", 2), ("PageUp", 0), ("ArrowUp", 0), ("PageDown", 3), ("ArrowUp", 2)]:
        page.keyboard.press(key)
        weights = explorer.frame()["weight"][at]
        assert said() == f"“{TOKENS[at]}” gives {weights.max():.2f} to “{TOKENS[weights.argmax()]}”."
    assert page.evaluate("window.keys") == 0
    assert page.evaluate("scrollY") == 0
    assert figure.locator(".chosen").evaluate("e => getComputedStyle(e).strokeWidth") == "4px"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"


def test_cells_are_chosen_by_pointer(local, made):
    figure = local.figure(TITLES[1])
    second = figure.locator("canvas").nth(1).bounding_box()
    n = 8
    local.page.mouse.click(second["x"] + second["width"] * 2.5 / n, second["y"] + second["height"] * 4.5 / n)
    values = made[TITLES[1]].frame()
    assert figure.locator(".readout").inner_text() == f"Query 5 gives {values['layer 2'][4, 2]:.2f} to key 3 (layer 2)."
    marker = figure.locator(".bar b")
    assert marker.count() == 1
    assert float(marker.evaluate("e => parseFloat(e.style.left)")) == pytest.approx(
        100 * values["layer 2"][4, 2].item()
    )


def test_in_every_map_the_strongest_key_of_the_chosen_row_is_marked(local, made):
    figure, explorer = local.figure(TITLES[1]), made[TITLES[1]]
    for n, row in [(8, 1), (8, 5), (16, 5)]:
        set_controls(figure, explorer, {"n": n, "causal": False})
        figure.locator(".map").scroll_into_view_if_needed()
        first = figure.locator("canvas").first.bounding_box()
        local.page.mouse.click(first["x"] - 12, first["y"] + first["height"] * (row + 0.5) / n)  # at the name of a row
        values = explorer.frame(n=n, causal=False)
        keys = [str(int(values[name][row].argmax()) + 1) for name in values]
        assert figure.locator("text.on.k").all_text_contents() == keys
        assert figure.locator("text.on.q").text_content() == str(row + 1)
        strongest = max(values, key=lambda name: values[name][row].max())
        number, key = values[strongest][row].max(), int(values[strongest][row].argmax()) + 1
        words = f"Query {row + 1} reads most from key {key} ({strongest}, {number:.2f})."
        assert figure.locator(".readout").inner_text() == words
        outlines = figure.locator("rect.row").evaluate_all("rows => rows.map(r => getComputedStyle(r).stroke)")
        assert outlines == ["rgb(0, 114, 178)"] * 3


def test_the_sentence_names_the_row_first(local):
    assert local.figure(TITLES[2]).locator(".readout").inner_text() == "“b” gives 0.50 to “y”."


def test_a_control_moves_the_chosen_key_to_the_strongest_one(local, made):
    figure = local.figure(TITLES[0])
    weights = made[TITLES[0]].frame(head="head 2")["weight"][1]
    figure.locator(".map").focus()
    local.page.keyboard.press("End" if weights.argmax() == 0 else "Home")
    move(controls(figure)[1])
    assert figure.locator(".readout").inner_text().endswith(f"{weights.max():.2f} to “{TOKENS[weights.argmax()]}”.")


def test_the_sentence_of_a_map_that_is_no_attention_names_row_column_and_map(local):
    figure = local.figure("Maps with a sign")
    assert figure.locator(".readout").inner_text() == "Head 2, layer 1: 0.37 (8) and layer 1: 0.00 (64)."
    figure.locator(".map").focus()
    local.page.keyboard.press("Home")
    local.page.keyboard.press("ArrowRight")
    assert figure.locator(".readout").inner_text() == "Head 2, layer 2: −0.25 (8) and layer 2: 0.00 (64)."


def test_names_and_values_are_there_for_a_screen_reader(local, made):
    figure = local.figure(TITLES[0])
    slider, menu = controls(figure)
    assert slider.get_attribute("aria-label") == "Temperature"
    assert slider.get_attribute("aria-valuetext") == "1"
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
