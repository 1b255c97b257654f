import base64
import io
import logging
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from transformer_anatomy.page.plotting import fonts, plot_bars, plot_heatmap, plot_lines
from transformer_anatomy.page.plotting.themes import THEMES, colours

WEIGHTS = torch.tensor([[1.0, 0.0], [0.25, 0.75]])


def heatmap(values=WEIGHTS, **options):
    return plot_heatmap(values, **{"alt": "Two rows of weights"} | options)


def lines(values, **options):
    return plot_lines(values, alt="A curve", **options)


def bars(values, **options):
    return plot_bars(values, alt="Bars", **options)


def pictures():
    return {
        "map": heatmap(rows=["a", "b"], columns=["a", "b"], title="Weights"),
        "dots": heatmap({"": WEIGHTS, "entropy": [0.0, 0.56], "uniform": 0.69}, rows=["a", "b"]),
        "signed": heatmap({"scores": 3 * WEIGHTS, "other": -WEIGHTS}, colors="signed", range=(-3, 3)),
        "lines": lines(
            {"entropy": [[0, 1, 2], [1, 2, 3], [2, 3, 4]], "gradient": [1, 2, 3], "uniform": 2.5, "here": [1, 2]},
            **{"baselines": ["uniform"], "points": ["here"], "x_label": "n", "y_label": "nats", "title": "Lines"},
        ),
        "bars": bars(
            {"scores": [2.0, -1.0], "uniform": 0.5}, baselines=["uniform"], columns=["a", "b"], y_label="nats"
        ),
    }


@pytest.mark.parametrize("theme", THEMES)
def test_the_map_shows_the_weights_with_queries_down_and_keys_across(theme):
    axes = getattr(heatmap(rows=["a", "b"], columns=["c", "d"]), theme).axes[0]
    assert np.array_equal(axes.images[0].get_array(), WEIGHTS)
    assert "queries" in axes.get_ylabel() and "keys" in axes.get_xlabel()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["c", "d"]
    assert axes.get_ylim() == (1.5, -0.5)  # the first query is at the top
    assert axes.images[0].get_clim() == (0, 1)


def test_a_map_of_two_queries_and_three_keys_has_two_rows():
    axes = heatmap(torch.rand(2, 3), rows=["a", "b"], columns=["x", "y", "z"]).light.axes[0]
    assert axes.images[0].get_array().shape == (2, 3)
    assert len(axes.get_yticks()) == 2 and len(axes.get_xticks()) == 3


def test_every_cell_of_a_small_map_carries_its_value_in_a_colour_that_can_be_read():
    for theme in THEMES:
        axes = getattr(heatmap(torch.linspace(0, 1, 16).reshape(4, 4)), theme).axes[0]
        assert [text.get_text() for text in axes.texts[:2]] == ["0.00", "0.07"]
        for text, value in zip(axes.texts, axes.images[0].get_array().ravel(), strict=True):
            assert contrast(text.get_color(), axes.images[0].to_rgba(value)[:3]) >= 4.5


def test_zero_is_the_colour_of_the_paper_and_one_the_last_stop():
    for theme in THEMES:
        color_map = getattr(heatmap(), theme).axes[0].images[0].cmap
        assert color_map(0.0)[:3] == pytest.approx(to_rgb(colours(theme)["w0"]))
        assert color_map(1.0)[:3] == pytest.approx(to_rgb(colours(theme)["w4"]))
        signed = getattr(heatmap(colors="signed", range=(-1, 1)), theme).axes[0].images[0].cmap
        assert signed(0.5)[:3] == pytest.approx(to_rgb(colours(theme)["w0"]), abs=0.01)


def test_the_colours_are_the_tokens_of_the_page(unchecked):
    assert (colours("light")["paper"], colours("dark")["paper"]) == ("#ffffff", "#14181e")
    assert (colours("light")["key"], colours("dark")["key"]) == ("#e69f00", "#e69f00")
    with pytest.raises(ValueError, match="theme must be one of"):
        colours("sepia")


def test_the_dots_stand_beside_their_rows_and_below_their_baseline():
    figure = heatmap({"weights": WEIGHTS, "entropy": [0.0, 0.5], "uniform": 0.69}).light
    dots = figure.axes[1]
    (marks,) = (line for line in dots.lines if line.get_marker() == "o")
    assert np.array_equal(marks.get_xdata(), [0.0, 0.5])
    assert dots.get_xlim() == (0, 0.69)
    assert {"entropy", "uniform 0.69", "0.00", "0.50"} <= {text.get_text() for text in dots.texts}


def test_many_maps_go_into_further_rows_before_their_cells_get_too_small():
    maps = {f"layer {n}": torch.rand(24, 24) for n in range(6)}
    tops = {round(axes.get_position().y1, 3) for axes in heatmap(maps).light.axes if axes.get_title() or axes.images}
    assert len(tops) >= 3  # two rows or more, and the scale


def test_a_curve_has_its_values_its_band_and_its_name_at_the_end():
    axes = lines({"entropy": [[0, 1], [1, 2], [2, 3]], "uniform": 2.0}, baselines=["uniform"], x=[1, 10]).light.axes[0]
    curve, baseline = axes.lines
    assert curve.get_xydata().tolist() == [[1, 1], [10, 2]]
    assert baseline.get_linestyle() == "--" and baseline.get_ydata().tolist() == [2, 2]
    assert axes.collections[0].get_paths()[0].get_extents().extents.tolist() == [1, 0, 10, 3]
    assert {text.get_text() for text in axes.texts} == {"entropy 2.00", "uniform 2.00"}
    assert axes.get_legend() is None


@pytest.mark.parametrize("ends", [(2, 2.001, 2.002), (3, 3, 3, 0), (0, 0, 3, 3), (0, 1, 2, 3)])
def test_the_names_of_lines_that_end_together_neither_touch_nor_leave_the_picture(ends):
    axes = lines({f"curve {place}": [1, end] for place, end in enumerate(ends)}, range=(0, 3)).light.axes[0]
    heights = sorted(text.xy[1] for text in axes.texts)
    pixel = 3 / 210
    assert all(upper - lower >= 14 * pixel for lower, upper in pairwise(heights))
    assert heights[0] >= -1e-9 and heights[-1] <= 3 + 1e-9
    assert max(abs(height - end) for height, end in zip(heights, sorted(ends), strict=True)) <= 45 * pixel


def test_bars_stand_on_zero_and_print_their_values():
    axes = bars({"weights": [0.67, 0.24, 0.09]}, columns=["water", "she", "poured"]).light.axes[0]
    assert [bar.get_height() for bar in axes.patches] == [0.67, 0.24, 0.09]
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.texts] == ["0.67", "0.24", "0.09"]


def test_quantities_with_a_colour_of_their_own_keep_it():
    axes = lines({"keys": [1, 2], "gradient of the loss": [2, 1], "entropy": [1, 1]}).light.axes[0]
    light = colours("light")
    assert [line.get_color() for line in axes.lines] == [light["key"], light["gradient"], light["w3"]]


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_can_be_read_on_its_paper(theme):
    for name, picture in pictures().items():
        figure = getattr(picture, theme)
        paper = figure.get_facecolor()[:3]
        assert paper == pytest.approx(to_rgb(colours(theme)["paper"])) and figure.get_facecolor()[3] == 1
        figure.draw_without_rendering()
        in_cells = {text for axes in figure.axes if axes.images for text in axes.texts}
        for text in set(figure.findobj(Text)) - in_cells:
            if text.get_text() and text.get_visible():
                assert contrast(text.get_color(), paper) >= 4.5, (name, text.get_text())


def contrast(one, other):
    lighter, darker = sorted((luminance(to_rgb(one)), luminance(to_rgb(other))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("family", ["installed", None])
def test_chinese_titles_and_negative_ticks_raise_no_warning_with_and_without_a_font(family, monkeypatch, caplog):
    if family is None:
        monkeypatch.setattr(fonts, "chinese_family", lambda: None)
    elif fonts.chinese_family() is None:
        pytest.skip("no Chinese font is installed")
    with caplog.at_level(logging.WARNING, logger="matplotlib"):
        picture = lines({"熵": [-5.0, 5.0]}, title="注意力的熵", x=[-1, 1], y_label="奈特")
        svg = picture.svg("light") + picture.svg("light", narrow=True)
        picture.dark.savefig(io.BytesIO(), format="png")
    assert not caplog.records
    assert "−" in svg
    assert ("注意力的熵" in svg) == (family is not None)
    assert ("?????" in svg) == (family is None)


def test_a_picture_is_the_same_bytes_on_every_run():
    assert [p._repr_html_() for p in pictures().values()] == [p._repr_html_() for p in pictures().values()]
    assert not re.search(r"\d{4}-\d\d-\d\dT", heatmap().svg("light"))


def test_a_picture_shows_both_themes_with_alt_text_and_reserved_space():
    html = heatmap(title='2 < 3 & "so"', alt='Rows "a" & b')._repr_mimebundle_()["text/html"]
    images = re.findall(r"<img[^>]*>", html)
    assert ["only-light" in image for image in images] == [True, False]
    for image in images:
        assert 'alt="Rows &quot;a&quot; &amp; b"' in image
        assert re.search(r'width="\d+" height="\d+"', image)
        svg = base64.b64decode(re.search(r'base64,([^"]*)"', image)[1]).decode()
        assert svg.startswith("<svg") and "2 &lt; 3 &amp;" in svg
    assert repr(heatmap()) == "<Picture: Two rows of weights>"


def test_a_wide_picture_is_drawn_anew_for_a_narrow_page():
    html = lines([1, 2, 3])._repr_mimebundle_()["text/html"]
    widths = [int(width) for width in re.findall(r'width="(\d+)" height', html)]
    assert sorted(widths) == [340, 340, 720, 720]
    assert "<source" not in lines([1, 2, 3])._repr_html_()


def test_in_the_book_the_page_brings_the_rule_that_hides_the_other_theme(monkeypatch):
    assert "<style>" in heatmap()._repr_html_()
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert "<style>" not in heatmap()._repr_html_()


def test_plotting_chooses_no_backend_and_never_imports_pyplot():
    code = (
        "import sys, torch, matplotlib; from transformer_anatomy.page.plotting import plot_heatmap;"
        "plot_heatmap(torch.eye(2), alt='x')._repr_html_();"
        "assert 'matplotlib.pyplot' not in sys.modules;"
        "assert matplotlib.rcParams._get_backend_or_none() is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_drawing_leaves_the_reader_s_own_settings_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    heatmap()._repr_html_()
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool])
def test_tensors_of_every_dtype_and_with_gradient_are_drawn(dtype):
    axes = heatmap(torch.eye(2).to(dtype)).light.axes[0]
    assert axes.images[0].get_array().tolist() == [[1, 0], [0, 1]]
    assert heatmap(WEIGHTS.clone().requires_grad_()).light


@pytest.mark.parametrize(
    ("draw", "error", "words"),
    [
        (lambda: heatmap(alt=" "), ValueError, "alt must say"),
        (lambda: heatmap(torch.rand(2)), ValueError, "2-D maps"),
        (lambda: heatmap({}), ValueError, "at least one tensor"),
        (lambda: heatmap({"a": WEIGHTS, "b": torch.rand(3, 2)}), ValueError, "one shape"),
        (lambda: heatmap({"a": WEIGHTS, "b": [1.0, 2.0, 3.0]}), ValueError, "2 rows"),
        (lambda: heatmap(torch.tensor([[float("nan"), 1.0]])), ValueError, "finite"),
        (lambda: heatmap(rows=["a"]), ValueError, "rows must name 2"),
        (lambda: heatmap(columns=["a", "b", "c"]), ValueError, "columns must name 2"),
        (lambda: heatmap(range=(1, 0)), ValueError, "low < high"),
        (lambda: heatmap(colors="rainbow"), ValueError, "colors must be one of"),
        (lambda: heatmap(colors="signed"), ValueError, "symmetric"),
        (lambda: heatmap("weights"), TypeError, "must hold numbers"),
        (lambda: lines(torch.rand(2, 5)), ValueError, r"shape \(x,\) or \(3, x\)"),
        (lambda: lines([1, 2], x=[1, 2, 3]), ValueError, "x must have shape"),
        (lambda: lines([1, 2], x=[0, 1], x_scale="log"), ValueError, "above 0 on a log scale"),
        (lambda: lines([1, 2], x_scale="cubic"), ValueError, "x_scale must be"),
        (lambda: lines({"a": [1, 2]}, baselines=["uniform"]), ValueError, r"baselines names \['uniform'\]"),
        (lambda: lines({"a": 1.0}, baselines=["a"]), ValueError, "at least one curve"),
        (lambda: lines({"a": [1, 2], "p": [1, 2, 3]}, points=["p"]), ValueError, r"shape \(2,\)"),
        (lambda: lines({"a": [1, 2], "b": [1, 2, 3]}), ValueError, "must have 2 points"),
        (lambda: bars(torch.rand(2, 2)), ValueError, "1-D entries"),
        (lambda: bars({"a": [1, 2], "b": [1]}), ValueError, "one length"),
        (lambda: bars([1, 2], columns=["a"]), ValueError, "columns must name 2"),
    ],
)
def test_bad_input_is_refused_by_an_error_that_names_it(draw, error, words, unchecked):
    with pytest.raises(error, match=words):
        draw()
