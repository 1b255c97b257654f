import re

import pytest

from transformer_anatomy import ConventionError, Conventions

COLUMNS = ("theirs", "ours")


@pytest.fixture
def table():
    return Conventions("the paper", *COLUMNS, caption="Measured with PyTorch 2.")


def add(table, theirs="post", ours=None, *, expected=None, name="Norm <placement>", stated="not stated"):
    measured = {"theirs": theirs, "ours": {"": "post", 'norm="pre"': "pre"} if ours is None else ours}
    expected = measured if expected is None else expected
    table.row(name, section="where-norm", stated=stated, measured=measured, expected=expected)


def page_of(output):
    return output.data["text/html"].split("</style>")[-1]


def text_of(markup):
    return " ".join(re.sub(r"<[^>]+>", " ", markup).split())


def test_a_row_is_shown_where_it_is_measured_and_again_in_the_whole_table(table, shown):
    with shown() as output:
        add(table)
        add(table, 1e-5, 1e-12, name="eps")
    single, whole = page_of(output.outputs[1]), table._repr_html_().split("</style>")[-1]
    assert text_of(single).endswith("eps checked the paper not stated theirs 10 −5 ours 10 −12")
    assert whole.count('<th scope="row"') == 2 and single.count('<th scope="row"') == 1
    assert "href" not in single and whole.count('<a href="#where-norm">') == 2
    assert repr(table).splitlines()[1] == "eps: the paper: not stated; theirs: 10⁻⁵; ours: 10⁻¹²"


def test_a_value_stands_beside_the_condition_under_which_it_holds(table, shown):
    with shown() as output:
        add(table)
    page = page_of(output.outputs[0])
    assert "<li><b>post</b></li><li><span>norm=<wbr>&quot;pre&quot;:</span> <b>pre</b></li>" in page
    assert "Norm &lt;placement&gt;" in page
    assert 'ours: post, norm="pre": pre' in output.outputs[0].data["text/plain"]


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        ("pre", "post"),
        (1e-5, 1.1e-5),
        ({"": "post"}, {"": "post", "norm_first=True": "pre"}),
        ({"": "post", "norm_first=True": "post"}, {"": "post", "norm_first=True": "pre"}),
        ("0", 0),
        ("NaN", {"": "NaN"}),
        (float("nan"), 1.0),
    ],
)
def test_a_row_whose_measurement_changed_fails_and_is_not_in_the_table(table, shown, measured, expected):
    with shown() as output, pytest.raises(ConventionError, match=r"eps, theirs: measured .* expected .* Correct"):
        add(table, measured, "post", expected={"theirs": expected, "ours": "post"}, name="eps")
    assert output.outputs == [] and "eps" not in repr(table)


def test_numbers_agree_to_one_percent(table, shown):
    with shown():
        add(table, 1.005e-5, "post", expected={"theirs": 1e-5, "ours": "post"})
    assert "10⁻⁵" in repr(table)


def test_the_columns_of_a_row_are_those_of_the_table(table):
    for wrong in ({"theirs": "post"}, {"ours": "post", "theirs": "post"}):
        with pytest.raises(ValueError, match=r"expected must have the columns \('theirs', 'ours'\), got"):
            add(table, expected=wrong)


@pytest.mark.parametrize("columns", [["the paper"], ["the paper", "ours", "ours"], ["the paper", "the paper"]])
def test_the_columns_of_a_table_are_two_or_more_and_different(columns):
    with pytest.raises(ValueError, match="two or more different"):
        Conventions(*columns, caption="")


def test_wide_narrow_and_for_a_screen_reader_it_is_one_table(table, shown, tmp_path, visit):
    with shown():
        add(table)
        add(table, 1e-5, 1e-12, name="eps")
    file = tmp_path / "table.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><title>t</title>{table._repr_html_()}", encoding="utf-8")
    for width in (1000, 390, 320):
        page = visit(file.as_uri(), viewport={"width": width, "height": 700}).page
        roles = {"table": 1, "row": 3, "columnheader": 4, "rowheader": 2, "cell": 6}
        assert {role: page.get_by_role(role).count() for role in roles} == roles
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        stacked = page.locator(".column").first.is_visible()
        assert stacked == (width < 600)
        assert page.locator("caption").inner_text() == "Measured with PyTorch 2."
        link = page.get_by_role("link").first
        link.focus()
        assert link.evaluate("link => getComputedStyle(link).outlineStyle") == "solid"


def test_in_the_book_the_page_brings_the_style(table, monkeypatch, shown):
    with shown():
        add(table)
    assert "<style>" in table._repr_html_()
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert "<style>" not in table._repr_html_()
