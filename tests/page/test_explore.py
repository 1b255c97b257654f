"""A figure as Python sees it: what is stored, what is refused, what is shown where, and what a kernel answers."""

import base64
import json
import math
import re
import struct

import pytest
import torch

from transformer_anatomy import choices, explore, linspace, logspace
from transformer_anatomy.page.explore.grids import Grid
from transformer_anatomy.page.explore.scales import decimals, round_steps

WIDGET = "application/vnd.jupyter.widget-view+json"
TEXTS = {"title": "A finding", "alt": "What is to be seen"}
TEMPERATURE = logspace(0.1, 10, 5, start=1)


def scores(n=4):
    return torch.randn(n, n, generator=torch.Generator().manual_seed(n))


def attention(temperature):
    return (scores() / temperature).softmax(-1)


def attention_with_strip(temperature, n):
    weights = (scores(n) / temperature).softmax(-1)
    return {"weight": weights, "entropy": -(weights * weights.log()).sum(-1), "uniform": math.log(n)}


def signed(temperature):
    return scores() / temperature


def curves(temperature):
    middle = torch.arange(1.0, 6) / temperature
    band = torch.stack([middle - 1, middle, middle + 2])
    return {"band": band, "curve": -middle, "level": 0.25, "slope": middle / 3, "here": torch.tensor([2.5, 1e-4])}


def bars(temperature):
    return (torch.tensor([2.0, 1.0, 0.0]) / temperature).softmax(-1)


def groups(temperature):
    return {"one": bars(temperature), "two": -bars(1.0), "uniform": 1 / 3}


CURVES = {"kind": "lines", "baselines": ("level", "slope"), "points": ("here",)}
KINDS = {
    "heatmap": (attention, {"temperature": TEMPERATURE}),
    "strip": (attention_with_strip, {"temperature": TEMPERATURE, "n": [2, 4, 8]}),
    "signed": (signed, {"temperature": TEMPERATURE, "colors": "signed"}),
    "lines": (curves, {"temperature": TEMPERATURE} | CURVES),
    "bars": (bars, {"temperature": TEMPERATURE}),
    "groups": (groups, {"temperature": TEMPERATURE, "kind": "bars", "baselines": ("uniform",)}),
}


def by_name(returned):
    returned = returned if isinstance(returned, dict) else {"": returned}
    return {name: torch.as_tensor(value) for name, value in returned.items()}


def stored(explorer):
    """What the page hands to its script."""
    return json.loads(re.search(r'<script type="application/vnd.explore\+json">(.*?)</script>', explorer.figure())[1])


# What is stored


@pytest.mark.parametrize("name", KINDS)
def test_a_stored_frame_is_the_live_result_within_the_stated_quantisation(name):
    function, options = KINDS[name]
    explorer = explore(function, **TEXTS, **options)
    for settings in explorer.settings:
        live, frame = by_name(function(**settings)), by_name(explorer.frame(**settings))
        assert list(live) == list(frame) == list(explorer.quantisation)
        for entry, tensor in frame.items():
            assert tensor.dtype == torch.float32
            assert tensor.shape == live[entry].shape
            assert (tensor - live[entry]).abs().max() <= explorer.quantisation[entry]


def test_quantisation_is_half_a_step_of_a_fixed_range():
    explorer = explore(attention_with_strip, **TEXTS, temperature=TEMPERATURE, n=[2, 4])
    assert explorer.quantisation["weight"] == pytest.approx(1 / 255 / 2, rel=1e-3)
    assert explorer.quantisation["entropy"] < 2e-5
    assert "10 frames computed when this cell ran, stored to ±0.002" in explorer.figure()


def test_a_point_keeps_both_of_its_numbers():
    explorer = explore(curves, **TEXTS, **CURVES, temperature=TEMPERATURE)
    assert explorer.frame()["here"].tolist() == [2.5, pytest.approx(1e-4)]


def test_the_result_comes_back_in_the_form_it_had():
    assert isinstance(explore(attention, **TEXTS, temperature=TEMPERATURE).frame(), torch.Tensor)
    assert set(explore(groups, **TEXTS, **KINDS["groups"][1]).frame()) == {"one", "two", "uniform"}


def test_frames_do_not_share_the_memory_of_the_function():
    held = torch.zeros(2, 2, dtype=torch.float64)
    explorer = explore(lambda value: held.fill_(value), **TEXTS, value=[0.25, 0.5, 1.0])
    assert [explorer.frame(value=value)[0, 0].item() for value in (0.25, 0.5, 1.0)] == pytest.approx(
        [0.25, 0.5, 1], abs=3e-3
    )


def test_gradients_and_narrow_types_are_fine():
    weights = torch.full((2, 2), 0.5, requires_grad=True)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        explorer = explore(
            lambda scale, dtype=dtype: (weights * scale).to(dtype), **TEXTS, scale=[1.0, 2.0], range=(0, 1)
        )
        torch.testing.assert_close(explorer.frame(scale=2.0), torch.ones(2, 2), atol=1e-6, rtol=0)


def test_a_scale_covers_all_frames():
    assert stored(explore(curves, **TEXTS, **CURVES, temperature=TEMPERATURE))["range"] == [-60.0, 60.0]
    assert stored(explore(bars, **TEXTS, temperature=TEMPERATURE))["range"] == [0.0, 1.0]
    assert stored(explore(signed, **TEXTS, colors="signed", temperature=TEMPERATURE))["range"] == [-27.0, 27.0]


def test_what_is_equal_is_stored_once():
    spec = stored(explore(attention_with_strip, **TEXTS, temperature=TEMPERATURE, n=[2, 4]))
    entries = {entry["name"]: entry for entry in spec["entries"]}
    assert list(entries) == ["weight", "entropy", "uniform"]
    assert len(entries["uniform"]["data"]["items"]) == 2
    assert spec["labels"]["rows"] == {"items": [["1", "2"], ["1", "2", "3", "4"]], "places": [0, 1] * 5}


@pytest.mark.parametrize(
    "lo, hi, log, steps",
    [
        (0, 5, False, [0, 1, 2, 3, 4, 5]),
        (-0.2, 0.5, False, [-0.2, 0, 0.2, 0.4]),
        (0.1, 10, True, [0.1, 1, 10]),
        (1, 30, True, [1, 2, 5, 10, 20]),
        (0.6, 0.9, True, [0.6, 0.9]),
        (3, 3, False, [3]),
    ],
)
def test_ticks_are_round_numbers(lo, hi, log, steps):
    assert round_steps(lo, hi, log) == pytest.approx(steps)


def ticks(**options):
    spec = stored(explore(lambda scale: {"a": torch.ones(4) * scale}, **TEXTS, kind="lines", scale=[1, 2], **options))
    return [text for _, text in spec["x_ticks"]]


def test_few_points_are_ticked_themselves():
    assert ticks(x=[4, 64, 512, 1024], x_scale="log") == ["4", "64", "512", "1024"]
    assert ticks(x=[0.12345, 0.5, 1, 2]) == ["0.5", "1", "1.5", "2"]
    assert ticks(x=lambda scale: [scale * place for place in (1, 2, 3, 4)]) == ["2", "4", "6", "8"]


@pytest.mark.parametrize(
    "rows, row",
    [
        ([[1, 0], [0.4, 0.6], [0, 1]], 1),
        ([[1, 0], [0, 0], [0, 1]], 2),
        ([[1, 0], [0, 0]], 0),
        ([[0, 0], [0, 0]], 0),
        ([[1, 0]], 0),
    ],
)
def test_the_row_chosen_at_first_is_the_second_unless_that_is_empty(rows, row):
    assert stored(explore(lambda scale: torch.tensor(rows) * scale, **TEXTS, scale=[0.5, 1.0]))["row"] == row


def test_baselines_differ_in_their_dashes_and_curves_in_their_colours():
    explorer = explore(curves, **TEXTS, **CURVES, temperature=TEMPERATURE)
    drawn = {line["name"]: line["cls"] for line in stored(explorer)["lines"]}
    assert drawn == {"level": "baseline", "slope": "baseline other", "band": "curve", "curve": "curve"}
    styles = [line["style"] for line in stored(explorer)["lines"] if line["cls"] == "curve"]
    assert styles[0] == "--color:var(--w3);--words:var(--w3-text,var(--ink))"
    assert len(set(styles)) == 2


@pytest.mark.parametrize("span, places", [(5000, 0), (200, 1), (1, 2), (0.4, 3), (0.01, 4)])
def test_decimals_follow_the_scale(span, places):
    assert decimals(0, span) == places


def test_the_picture_and_the_words_without_a_script_are_those_of_the_start():
    explorer = explore(bars, **TEXTS, temperature=TEMPERATURE, readout=lambda values, temperature: f"at {temperature}")
    picture = explorer.figure().partition('<div class="picture">')[2].partition("</div>")[0]
    svg = base64.b64decode(re.search(r"base64,([^\"]*)", picture)[1]).decode()
    assert ">0.67<" in svg and ">1.00<" not in svg
    assert '<p class="readout" aria-live="polite">at 1.0</p>' in explorer.figure()


# What is refused


@pytest.mark.parametrize("letter, fits", [("e", True), ("\u00e9", False)])
def test_the_limit_is_one_of_bytes(letter, fits):
    def figure():
        return explore(bars, **TEXTS, temperature=TEMPERATURE, readout=lambda values, temperature: letter * 120_000)

    if fits:
        assert len(figure().figure()) > 240_000
    else:
        with pytest.raises(ValueError, match=r"takes 49\d KB in 5 frames"):
            figure()


def test_a_map_may_leave_the_range_of_its_colours_by_rounding_only():
    assert explore(lambda n: torch.full((2, 2), 1 + n * 1e-6), **TEXTS, n=[0, 1])
    with pytest.raises(ValueError, match="leave the range"):
        explore(lambda n: torch.full((2, 2), 1 + n * 1e-3), **TEXTS, n=[0, 1])


def test_a_figure_of_more_than_300_kilobytes_is_refused_and_the_grid_named():
    with pytest.raises(ValueError, match=r"takes \d+ KB in 120 frames, at most 300 KB .* n, which has 40 values"):
        explore(lambda n, head: torch.rand(90, 90), **TEXTS, n=range(40), head=["a", "b", "c"])


def test_it_is_refused_before_everything_is_computed():
    calls = []
    with pytest.raises(ValueError, match="coarsen the grid of n"):
        explore(lambda n: calls.append(n) or torch.rand(200, 200), **TEXTS, n=range(500))
    assert len(calls) < 20


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_refused_and_the_frame_named(value):
    with pytest.raises(RuntimeError, match=r"f\(temperature=10\): ValueError: .*finite"):

        def f(temperature):
            return torch.full((2, 2), value if temperature == 10 else 0.5)

        explore(f, **TEXTS, temperature=TEMPERATURE)


def test_an_error_of_the_function_names_the_settings():
    def f(temperature, head):
        return attention(temperature) if head == "a" else 1 / 0

    with pytest.raises(
        RuntimeError, match=r"f\(temperature=0.1, head='b'\): ZeroDivisionError: division by zero"
    ) as caught:
        explore(f, **TEXTS, temperature=TEMPERATURE, head=["a", "b"])
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_the_readout_names_the_settings():
    with pytest.raises(RuntimeError, match=r"attention\(temperature=0.1\): KeyError: 'entropy'"):
        explore(attention, **TEXTS, temperature=TEMPERATURE, readout=lambda values, temperature: {}["entropy"])
    with pytest.raises(RuntimeError, match=r"readout must return a sentence \(str\), got float"):
        explore(attention, **TEXTS, temperature=TEMPERATURE, readout=lambda values, temperature: 1.0)


@pytest.mark.parametrize("title, alt", [("", "seen"), ("found", " "), (None, "seen"), ("found", None)])
def test_title_and_alt_are_sentences(title, alt, unchecked):
    with pytest.raises(ValueError, match="must be a sentence, got"):
        explore(attention, title=title, alt=alt, temperature=TEMPERATURE)


@pytest.mark.parametrize(
    "controls, message",
    [
        ({}, "at least one control"),
        ({"temperature": TEMPERATURE, "heat": [1, 2]}, r"controls \['heat'\] are no parameters of attention"),
        ({"heat": [1, 2]}, r"controls \['heat'\] are no parameters"),
        ({"temperature": TEMPERATURE, "device": ["cpu", "cuda"]}, "device is no control"),
        ({"temperature": 1.0}, r"control temperature=1.0: give logspace"),
        ({"temperature": "hot"}, r"control temperature='hot': give logspace"),
        ({"temperature": [1, "hot"]}, "control temperature needs all numbers, all strings or all booleans"),
        ({"temperature": None}, "control temperature=None: give logspace"),
        ({"temperature": TEMPERATURE, "caption": None}, "caption must be text, got None"),
        ({"temperature": TEMPERATURE, "labels": "temperature"}, "labels must map names of controls to texts"),
        ({"temperature": TEMPERATURE, "labels": {"temperature": 3}}, "labels must map names of controls to texts"),
        ({"temperature": TEMPERATURE, "row_label": 3}, "row_label must be text, got 3"),
        ({"temperature": TEMPERATURE, "readout": "text"}, "readout must be a function that returns a sentence"),
        ({"range": TEMPERATURE}, "range is an option of explore and cannot be a control"),
    ],
)
def test_controls_that_the_function_does_not_take_are_refused(controls, message, unchecked):
    with pytest.raises(TypeError, match=message):
        explore(attention, **TEXTS, **controls)


@pytest.mark.parametrize(
    "function, message", [(max, "max does not tell its parameters"), (None, "needs a function, got NoneType")]
)
def test_what_has_no_parameters_to_control_is_refused(function, message, unchecked):
    with pytest.raises(TypeError, match=message):
        explore(function, **TEXTS, n=[1, 2])


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: logspace("a", 1, 3), r"logspace\('a', 1, 3\) needs numbers as its ends"),
        (lambda: linspace(None, 1, 3), r"linspace\(None, 1, 3\) needs numbers as its ends"),
        (lambda: linspace(0, 1, 3, start="a"), "start='a' is not a number"),
        (lambda: choices(None), "choices needs a list of values, got None"),
        (lambda: choices({"a": 1}), "choices needs a list of values"),
    ],
)
def test_grids_of_something_else_than_numbers_are_refused(make, message, unchecked):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_parameter_without_a_control_is_named():
    with pytest.raises(TypeError, match=r"attention_with_strip needs \['n'\]"):
        explore(attention_with_strip, **TEXTS, temperature=TEMPERATURE)


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: [1.0], "control temperature needs at least two values"),
        (lambda: [2, 1], "control temperature needs increasing values"),
        (lambda: [1, 1], "control temperature needs increasing values"),
        (lambda: ["a", "a"], "lists a value twice"),
        (lambda: [1.0, math.nan], "needs finite numbers"),
        (lambda: logspace(0, 1, 5), "logspace needs lo > 0, got lo=0"),
        (lambda: logspace(-1, 1, 5), "logspace needs lo > 0, got lo=-1"),
        (lambda: logspace(math.nan, 1, 5), "logspace needs lo > 0"),
        (lambda: logspace(1, 1, 5), "finite ends with lo < hi"),
        (lambda: linspace(0, math.inf, 5), "finite ends with lo < hi"),
        (lambda: linspace(0, 1, 1), "at least two values, got n=1"),
        (lambda: linspace(0, 1, 3, start=0.4), r"start=0.4 is not on the grid; near it are \[0.5, 0.0\]"),
        (lambda: choices(["a", "b"], start="c"), r"start='c' is none of \['a', 'b'\]"),
        (lambda: choices([1, 2], free_text=True), "free_text=True needs strings"),
        (lambda: torch.rand(2, 2), r"needs a list of values, got a tensor of shape \(2, 2\)"),
        (lambda: [10**400, 10**401], "needs finite numbers"),
    ],
)
def test_grids_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        explore(attention, **TEXTS, temperature=make())


@pytest.mark.parametrize(
    "function, options, message",
    [
        (lambda n: torch.rand(2, 2, 2), {}, r"the shapes are \{'': \(2, 2, 2\)\}"),
        (lambda n: {"a": torch.rand(2, 2), "b": torch.rand(2, 3)}, {}, "maps of one shape"),
        (lambda n: {"a": torch.rand(2, 2), "b": torch.rand(3)}, {}, "strip as long as their rows"),
        (lambda n: {"a": torch.rand(2, 2), "b": torch.tensor(1.0)}, {}, "with it one 0-D baseline"),
        (lambda n: {"a": torch.rand(2, 2), "b": torch.rand(2) - 1}, {}, "the strip beside the rows starts at 0"),
        (lambda n: {"a": torch.rand(4), "b": torch.tensor(1.0)}, {}, "0-D or .* entries named in baselines"),
        (lambda n: {"a": torch.rand(4), "b": torch.rand(5)}, {}, "curves"),
        (lambda n: {"a": torch.rand(4), "b": torch.rand(3)}, {"points": ("b",)}, "entries named in points"),
        (lambda n: {"a": torch.rand(4)}, {"baselines": ("b",)}, r"name \['b'\], but the entries are \['a'\]"),
        (lambda n: torch.rand(4), {"kind": "pie"}, "kind='pie' is none of"),
        (lambda n: torch.empty(0, 2), {}, r"at least one number, got shape \(0, 2\)"),
        (lambda n: torch.eye(2).double() * 1e300, {"range": (0, 1e301)}, "numbers of float32"),
        (lambda n: {1: torch.eye(2), "1": torch.eye(2)}, {}, "names that differ when written"),
        (lambda n: {"a": torch.rand(3)}, {"x": [1, None, 2]}, "x must hold finite numbers"),
        (lambda n: torch.rand(2, 2), {"colors": "jet"}, "colors='jet' is none of"),
        (lambda n: torch.rand(2, 2), {"range": (1, 0)}, r"range must be \(low, high\) with low < high, got \(1, 0\)"),
        (lambda n: torch.rand(2, 2), {"range": (1,)}, r"range must be \(low, high\)"),
        (lambda n: torch.rand(2, 2), {"colors": "signed", "range": (-1, 2)}, "centred at 0"),
        (lambda n: torch.rand(2, 2) + 1, {}, r"values from 1.* leave the range \(0, 1\) of the colours"),
        (lambda n: {"a": torch.rand(2)}, {"x": [0, 1], "x_scale": "log"}, "numbers above 0, as x_scale is 'log'"),
    ],
)
def test_results_that_the_kind_cannot_draw_are_refused(function, options, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        explore(function, **TEXTS, n=[1, 2], **options)


@pytest.mark.parametrize("returned", [None, "text", {}, {"a": None}])
def test_results_that_are_no_tensors_are_refused(returned):
    with pytest.raises(RuntimeError, match=r"\(n=2\): (TypeError|ValueError): "):
        explore(lambda n: returned, **TEXTS, n=[1, 2])


def test_an_entry_that_comes_and_goes_is_refused():
    with pytest.raises(
        RuntimeError, match=r"\(n=1\): ValueError: the entries are \['a'\], at the start they were \['b'\]"
    ):
        explore(lambda n: {"ab"[n - 1]: torch.rand(2, 2)}, **TEXTS, n=[1, 2])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"x": [1, 2]}, "x is no option of a figure of kind 'heatmap'"),
        ({"baselines": "uniform"}, "baselines is no option"),
        ({"labels": {"heat": "Heat"}}, r"labels names \['heat'\], but the controls are \['temperature'\]"),
        ({"rows": ["a"]}, "rows has 1 labels for 4 places; where the size changes, give a function"),
        ({"rows": lambda temperature: ["a"]}, "rows has 1 labels for 4 places"),
        ({"rows": "abcd"}, "rows='abcd': give a list"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises((TypeError, ValueError, RuntimeError), match=message):
        explore(attention, **TEXTS, temperature=TEMPERATURE, **options)


def test_a_frame_that_is_not_stored_is_refused():
    explorer = explore(attention, **TEXTS, temperature=TEMPERATURE)
    with pytest.raises(ValueError, match=r"there is no frame at \{.temperature.: 0.5\}; stored are"):
        explorer.frame(temperature=0.5)
    with pytest.raises(ValueError, match="there is no frame"):
        explorer.frame(heat=1)


# Grids


def test_grids_start_where_they_are_told():
    assert TEMPERATURE.values == (0.1, 0.3162, 1.0, 3.162, 10.0)
    assert TEMPERATURE.start == 2
    assert linspace(0, 1, 5).start == 2
    assert choices([4, 8, 16], start=4).start == 0
    assert choices(["a", "b"]) == Grid(("a", "b"), 0, "menu")
    assert explore(attention, **TEXTS, temperature=[1, 2, 4]).start == {"temperature": 2}


def test_tensors_and_ranges_are_lists_of_settings():
    assert choices(torch.tensor([1, 2])).values == (1, 2)
    assert choices(range(3)).integer
    assert not choices([1, 2.5]).integer


def test_the_ends_of_a_grid_may_come_from_a_tensor(unchecked):
    assert linspace(torch.tensor(0), torch.tensor(2), 3).values == (0.0, 1.0, 2.0)


# What is shown where


@pytest.fixture
def book(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")


@pytest.fixture
def figure():
    return explore(attention, **TEXTS, temperature=TEMPERATURE, caption="Made with *care*, 2*3*4.")


def test_a_notebook_gets_a_widget_and_html_that_stands_alone(figure):
    bundle = figure._repr_mimebundle_()
    assert set(bundle) >= {"text/plain", "text/html", WIDGET}
    assert bundle["text/plain"] == "<Explorer: A finding, 5 frames of temperature>"
    assert "anatomyExplore" in bundle["text/html"]
    assert "--paper" in bundle["text/html"]


def test_the_book_gets_html_only_and_script_and_style_once_a_page(book, figure):
    bundle = figure._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "anatomyExplore" not in bundle["text/html"]
    assert "<style>" not in bundle["text/html"]
    assert "5 frames computed when the book was built" in bundle["text/html"]


def test_nothing_in_it_is_fetched(figure):
    html = figure._repr_mimebundle_()["text/html"]
    assert not re.search(r'(src|href)="(?!data:|#)', html)
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")


def test_without_a_script_picture_readout_and_caption_are_there(figure):
    html = figure.figure()
    assert html.startswith('<figure class="explore anatomy" id="explore-')
    order = ["title", "controls", "picture", "bar", "readout", "problem", "state", "data"]
    assert re.findall(r'<(?:p|div|details) class="([a-z]+)"', html) == order
    assert html.count("<img") == 2
    assert html.count('alt="What is to be seen"') == 2
    assert "<figcaption>Made with <em>care</em>, 2*3*4.</figcaption>" in html


def test_every_showing_has_an_id_of_its_own(figure):
    first, second = (re.findall(r'id="(.*?)"', figure.figure()) for _ in range(2))
    assert len(first) == 2
    assert not set(first) & set(second)


def test_words_from_outside_are_escaped():
    nasty = "</script><script>alert(1)</script> \"quoted\" & 'single'"
    explorer = explore(
        lambda word: torch.eye(2),
        title=nasty,
        alt=nasty,
        caption=nasty,
        readout=lambda values, word: nasty,
        rows=[nasty, "b"],
        row_label=nasty,
        labels={"word": nasty},
        word=[nasty, "b"],
    )
    html = explorer.figure()
    assert html.count("</script>") == 1
    assert "<script>" not in html
    assert 'aria-label="&lt;/script&gt;' in html
    assert stored(explorer)["readouts"]["items"] == [nasty]


def test_labels_of_controls_are_words():
    explorer = explore(
        lambda head_size, d_k: torch.eye(2), **TEXTS, head_size=[1, 2], d_k=[1, 2], labels={"d_k": "d<sub>"}
    )
    assert re.findall(r'aria-label="(.*?)"', explorer.figure()) == ["Head size", "d&lt;sub&gt;"]


def test_the_function_is_asked_on_the_processor_unless_told_otherwise():
    devices = []

    def f(n, device):
        devices.append(device)
        return torch.eye(2, device=device)

    explore(f, **TEXTS, n=[1, 2])
    assert set(devices) == {"cpu"}


# What a kernel answers


def live(function=attention, **options):
    return explore(function, **TEXTS, **{"temperature": TEMPERATURE} | options).widget


def compute(widget, device="cpu", **controls):
    return widget.answer({"type": "compute", "id": [0.5, 7], "controls": controls, "device": device})


def numbers(buffer):
    return torch.tensor(struct.unpack(f"<{len(buffer) // 4}f", buffer))


def test_hello_is_answered_with_the_devices():
    assert live().answer({"type": "hello"}) == ({"type": "hello", "devices": []}, [])
    with_device = live(lambda temperature, device: attention(temperature))
    assert with_device.answer({"type": "hello"})[0]["devices"][0] == "cpu"


def test_values_off_the_grid_are_computed_exactly():
    answer, (buffer,) = compute(live(readout=lambda values, temperature: f"at {temperature}"), temperature=0.7654321)
    assert (answer["type"], answer["id"], answer["readout"]) == ("frame", [0.5, 7], "at 0.7654321")
    assert answer["ms"] >= 0
    assert answer["labels"] == {"rows": ("1", "2", "3", "4"), "columns": ("1", "2", "3", "4")}
    torch.testing.assert_close(numbers(buffer), attention(0.7654321).flatten(), atol=0, rtol=0)


def test_numbers_arrive_in_the_type_of_their_grid():
    seen = []
    widget = live(lambda temperature, n: seen.append((temperature, n)) or torch.eye(2), n=[4, 8])
    compute(widget, temperature=1, n=5.7)
    assert seen[-1] == (1.0, 6)
    assert [type(value) for value in seen[-1]] == [float, int]


def test_any_text_is_computed_where_free_text_is_allowed():
    function = {"free": choices(["a", "bb"], free_text=True), "closed": ["a", "bb"]}
    for name, words in function.items():
        widget = live(lambda temperature, words: torch.full((2, 2), len(words) / 100), words=words)
        answer, _ = compute(widget, temperature=1.0, words="a new one")
        assert answer["type"] == ("frame" if name == "free" else "error")


@pytest.mark.parametrize(
    "controls, words",
    [
        ({"temperature": 1e9}, r"temperature=1000000000.0 is outside 0.1 to 10.0"),
        ({"temperature": math.nan}, "temperature=nan is not a finite number"),
        ({"temperature": "hot"}, "temperature='hot' is not a finite number"),
        ({}, r"the controls are \['temperature'\], the page sent \[\]"),
        ({"temperature": 1.0, "heat": 2}, r"the page sent \['temperature', 'heat'\]"),
    ],
)
def test_what_the_page_should_not_send_is_answered_in_words(controls, words):
    answer, buffers = compute(live(), **controls)
    assert (answer["type"], answer["id"], buffers) == ("error", [0.5, 7], [])
    assert re.search(words, answer["text"])


def test_an_error_of_the_function_is_answered_in_words():
    def f(temperature):
        if temperature == 5:
            raise ValueError("five is too warm")
        return torch.full((2, 2), math.nan if temperature == 6 else 0.5)

    assert compute(live(f), temperature=5.0)[0]["text"] == "f(temperature=5): ValueError: five is too warm"
    assert "finite" in compute(live(f), temperature=6.0)[0]["text"]


def test_a_computation_runs_where_it_is_asked_to(monkeypatch):
    monkeypatch.setattr("transformer_anatomy.page.explore.live.available_devices", lambda: ["cpu", "abacus"])
    monkeypatch.setattr("transformer_anatomy.page.explore.live.pick_device", lambda name: name)
    devices = []
    widget = live(lambda temperature, device: devices.append(device) or attention(temperature))
    assert widget.answer({"type": "hello"})[0]["devices"] == ["cpu", "abacus"]
    assert compute(widget, device="abacus", temperature=1.0)[0]["type"] == "frame"
    assert devices[-1] == "abacus"
    compute(widget, device="", temperature=1.0)
    assert devices[-1] == "cpu"


def test_a_device_that_is_not_there_is_answered_in_words():
    widget = live(lambda temperature, device: attention(temperature).to(device))
    assert "device 'abacus' is not there" in compute(widget, device="abacus", temperature=1.0)[0]["text"]
    assert compute(widget, device="", temperature=1.0)[0]["type"] == "frame"


def test_the_module_of_jupyterlab_is_the_script_of_the_book():
    widget, script = live(), explore(attention, **TEXTS, temperature=TEMPERATURE)._repr_html_()
    book = script[script.rindex("<script>") + 8 : script.rindex("</script>")]
    assert widget._esm.startswith(book)
    assert "export default" in widget._esm[len(book) :]
    assert "export" not in book
    assert len(book.encode()) <= 25_000  # as written; a page of the book carries less
