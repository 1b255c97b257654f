import base64
import io
import logging
import re
import subprocess
import sys

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
        assert [text.get_text() for text in axes.texts[:2]] == [".00", ".07"]
        assert axes.texts[-1].get_text() == "1.00"
        for text, value in zip(axes.texts, axes.images[0].get_array().ravel(), strict=True):
            assert contrast(text.get_color(), axes.images[0].to_rgba(value)[:3]) >= 4.5


def test_a_map_of_many_cells_prints_none_and_a_signed_one_keeps_its_sign():
    assert not heatmap(torch.rand(6, 6)).light.axes[0].texts
    axes = heatmap([[-0.5, 2.0]], colors="signed", range=(-2, 2)).light.axes[0]
    assert [text.get_text() for text in axes.texts] == ["−.50", "2.00"]


def test_queries_and_keys_are_named_in_their_colours():
    axes = heatmap().light.axes[0]
    assert axes.xaxis.label.get_color() == colours("light")["key-text"]
    assert axes.yaxis.label.get_color() == colours("light")["query"]
    assert heatmap(row_label="heads").light.axes[0].yaxis.label.get_color() == colours("light")["muted"]


def test_one_map_lends_its_name_to_the_scale_and_several_have_headings():
    assert "scores 0" in words(heatmap({"scores": WEIGHTS}).light)
    two = words(heatmap({"untrained": WEIGHTS, "d_k": WEIGHTS}).light)
    assert {"Untrained", "d_k", "weight 0"} <= set(two)
    assert "Weights" not in words(bars({"weights": [1, 2]}).light)
    assert {"One", "Two"} <= set(words(bars({"one": [1, 2], "two": [1, 2]}).light))


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
    figure = lines(
        {"entropy": [[0, 1], [1, 2], [2, 3]], "uniform": 3.0, "other": 0.5}, baselines=["uniform", "other"], x=[1, 10]
    ).light
    axes, named = figure.axes[0], {line.get_label(): line for line in figure.axes[0].lines}
    assert named["entropy"].get_xydata().tolist() == [[1, 1], [10, 2]]
    assert named["uniform"].get_ydata().tolist() == [3, 3]
    assert named["uniform"].is_dashed() and named["other"].is_dashed()
    assert named["uniform"]._unscaled_dash_pattern != named["other"]._unscaled_dash_pattern
    assert axes.collections[0].get_paths()[0].get_extents().extents.tolist() == [1, 0, 10, 3]
    assert {"entropy 2.00", "uniform 3.00", "other 0.50", "1.00"} <= set(words(figure))
    assert axes.get_legend() is None


def words(figure):
    return {text.get_text(): text for text in figure.texts if text.get_text()}


def boxes(figure):
    """Left, bottom, right, top of each text on the page, in pixels."""
    figure.draw_without_rendering()
    return {name: text.get_window_extent().extents for name, text in words(figure).items()}


def touch(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


FANNED = {f"curve {place}": torch.linspace(0, 1, 40) ** (place + 1) for place in range(4)}


@pytest.mark.parametrize("theme_width", [720, 340])
@pytest.mark.parametrize(
    "values",
    [
        {f"curve {place}": [1, end] for place, end in enumerate((2, 2.001, 2.002))},
        {f"curve {place}": [1, end] for place, end in enumerate((3, 3, 3, 0))},
        {f"curve {place}": [1, end] for place, end in enumerate((0, 1, 2, 3))},
        FANNED | {"level": 1.0, "here": [20, 0.9], "there": [21, 0.9]},
    ],
)
def test_names_neither_touch_nor_leave_the_picture(values, theme_width):
    names = {"baselines": ["level"], "points": ["here", "there"]} if "level" in values else {}
    figure = lines(values, range=(0, 3), **names)._figure("light", theme_width)
    found = list(boxes(figure).values())
    assert len(found) >= len(values)
    assert not any(touch(one, other) for place, one in enumerate(found) for other in found[:place])
    assert all(box[0] >= 0 and box[2] <= theme_width + 1 for box in found)


def test_curves_that_end_together_are_named_where_they_are_apart():
    three = {name: curve for name, curve in FANNED.items() if name != "curve 2"}
    figure = lines(three, range=(0, 1)).light
    assert set(three) == set(words(figure))
    end = figure.axes[0].get_window_extent().x1
    assert all(box[0] < end for box in boxes(figure).values())
    apart = lines({"a": [0, 1], "b": [0, 0.5]}, range=(0, 1)).light
    assert {"a 1.00", "b 0.50"} <= set(words(apart))


def test_no_name_lies_on_a_curve():
    figure = lines(FANNED | {"here": [20, 0.5]}, points=["here"], range=(0, 1)).light
    lines_in_pixels = [
        figure.axes[0].transData.transform(
            np.column_stack([np.linspace(1, 40, 900), np.interp(np.linspace(0, 39, 900), range(40), curve)])
        )
        for curve in FANNED.values()
    ]
    for left, bottom, right, top in boxes(figure).values():
        for x, y in (points.T for points in lines_in_pixels):
            assert not ((x > left) & (x < right) & (y > bottom + 2) & (y < top - 2)).any()


def test_x_may_hold_names_and_is_ticked_at_the_points_where_they_are_few():
    axes = lines([1.0, 2.0, 3.0], x=["layer 1", "layer 2", "layer 3"]).light.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["layer 1", "layer 2", "layer 3"]
    axes = lines([1.0, 2.0, 3.0], x=[4, 64, 1024], x_scale="log").light.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4", "64", "1024"]
    axes = lines(torch.rand(30), x=torch.linspace(0, 1, 30)).light.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]


def test_a_title_has_the_size_of_a_figure_s_and_is_broken_where_the_page_is_narrow():
    picture = lines([1, 2, 3], title="A finding that is much too long for one line of a small screen")
    (title,) = [text for text in picture.light.texts if text.get_text().startswith("A finding")]
    assert (title.get_fontsize(), title.get_fontweight()) == (16, "bold")
    narrow = picture._figure("light", 340)
    assert all(box[2] <= 340 for box in boxes(narrow).values())
    assert "".join(f"{text.get_text()} " for text in narrow.texts).startswith(picture.light.texts[0].get_text())


def test_bars_stand_on_zero_and_print_their_values():
    axes = bars({"weights": [0.67, 0.24, 0.09]}, columns=["water", "she", "poured"]).light.axes[0]
    assert [bar.get_height() for bar in axes.patches] == [0.67, 0.24, 0.09]
    assert axes.get_ylim()[0] == 0
    assert [text.get_text() for text in axes.texts] == ["0.67", "0.24", "0.09"]


def test_the_number_of_a_bar_is_not_struck_through_by_a_baseline():
    figure = bars({"weights": [0.24, 0.09, -0.2], "uniform": 0.26, "other": 0.1}, baselines=["uniform", "other"]).light
    figure.draw_without_rendering()
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        heights = figure.axes[0].transData.transform([(0, 0.26), (0, 0.1), (0, 0)])[:, 1]
        assert not any(box.y0 + 1 < height < box.y1 - 1 for height in heights), text.get_text()


def test_zeros_are_left_out_where_bars_are_many_and_the_axis_has_its_ends():
    axes = bars([0.0, 1e-4, 0.5], columns=["a", "b", "c"], range=(0, 1)).light.axes[0]
    assert [text.get_text() for text in axes.texts] == ["0.00", "0.00", "0.50"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0", "1"]
    many = bars([0.0] * 12 + [0.5], range=(0, 1)).light.axes[0]
    assert [text.get_text() for text in many.texts] == ["0.50"]


def test_quantities_with_a_colour_of_their_own_keep_it():
    axes = lines({"keys": [1, 2], "gradient of the loss": [2, 1], "entropy": [1, 1]}).light.axes[0]
    light = colours("light")
    colors = {line.get_label(): line.get_color() for line in axes.lines}
    assert [colors[name] for name in ("keys", "gradient of the loss", "entropy")] == [
        light["key"],
        light["gradient"],
        light["w3"],
    ]


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
        (lambda: heatmap(range=(1,)), ValueError, r"range must be \(low, high\)"),
        (lambda: heatmap(range=0), ValueError, r"range must be \(low, high\) .*, got 0"),
        (lambda: heatmap(row_label=3), TypeError, "row_label must be text, got 3"),
        (lambda: heatmap(rows="ab"), TypeError, "rows must be a list, got 'ab'"),
        (lambda: heatmap({1: WEIGHTS, "1": WEIGHTS}), ValueError, "names that differ when written"),
        (lambda: heatmap(torch.empty(0, 2)), ValueError, r"at least one number, got shape \(0, 2\)"),
        (lambda: heatmap([[1e300]]), ValueError, "numbers of float32, got 1e"),
        (lambda: heatmap([[10**400]]), TypeError, "must hold numbers, got"),
        (lambda: heatmap(colors="rainbow"), ValueError, "colors must be one of"),
        (lambda: heatmap(colors="signed"), ValueError, "symmetric"),
        (lambda: heatmap("weights"), TypeError, "must hold numbers"),
        (lambda: lines(torch.rand(2, 5)), ValueError, r"shape \(x,\) or \(3, x\)"),
        (lambda: lines([1, 2], x=[1, 2, 3]), ValueError, "x must have shape"),
        (lambda: lines([1, 2], x=["a"]), ValueError, "x must name 2 positions"),
        (lambda: lines([1, 2], x=3), TypeError, "x must be a list, got 3"),
        (lambda: lines([1, 2], x=[0, 1], x_scale="log"), ValueError, "above 0 on a log scale"),
        (
            lambda: lines({"a": [1, 2], "p": [0, 1]}, x=[1, 2], x_scale="log", points=["p"]),
            ValueError,
            "log scale, also of points",
        ),
        (lambda: lines([1, 2], y_label=3), TypeError, "y_label must be text"),
        (lambda: lines([1, 2], baselines=3), TypeError, "baselines must be a list, got 3"),
        (lambda: lines([1, 2], points=[3]), TypeError, "points must list names"),
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
