import re

import pandas as pd
import pytest
import torch
from markupsafe import Markup

from transformer_anatomy import Table


def cells(table):
    rows = re.findall(r"<tr>(.*?)</tr>", table._repr_html_())
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows]


def test_a_dict_of_lists_and_tensors_becomes_rows_with_rounded_numbers():
    table = Table({"layer": range(1, 3), "norm": torch.tensor([0.12345, 1234.5]), "named": ["d_k", "<b>"]}, caption="c")
    expected = [["layer", "norm", "named"], ["1", "0.12", "d<sub>k</sub>"], ["2", "1,234", "&lt;b&gt;"]]
    assert cells(table) == expected
    assert repr(table).splitlines()[1].split() == ["1", "0.12", "d_k"]


def test_a_frame_keeps_its_columns_and_what_is_missing_is_a_dash():
    table = Table(pd.DataFrame({"norm": ["post", "pre"], "loss": [None, float("inf")]}), caption="c")
    assert cells(table)[1:] == [["post", "–"], ["pre", "∞"]]


def test_numbers_stand_on_the_right_and_words_and_booleans_on_the_left():
    markup = Table({"a": ["x"], "b": [0.5], "c": [True]}, caption="c")._repr_html_()
    assert re.findall(r'<td class="(\w*)">', markup) == ["number", ""]
    assert re.findall(r'scope="(\w+)" class="(\w*)"', markup)[-1] == ("row", "")


def test_a_path_breaks_where_its_words_join_and_a_number_does_not():
    table = Table({"where": ["layers.0.hidden_projection"], "by": ["10.5-fold"]}, caption="c")
    assert cells(table)[1] == ["layers.0.<wbr>hidden_<wbr>projection", "10.5-fold"]


def test_markup_stays_as_it_is():
    table = Table({"page": [Markup('<a href="a.html">A</a>')], "n": ["<b>"]}, caption="c")
    assert cells(table)[1] == ['<a href="a.html">A</a>', "&lt;b&gt;"]


def test_a_caption_is_the_table_s_own_and_the_page_brings_the_style(monkeypatch):
    table = Table({"a": [1]}, caption="What was measured")
    assert "<caption>What was measured</caption>" in table._repr_html_() and "<style>" in table._repr_html_()
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert "<style>" not in table._repr_html_()


@pytest.mark.parametrize("columns", [{}, {"a": [1], "b": []}])
def test_columns_that_make_no_table_are_refused(columns):
    with pytest.raises(ValueError, match="columns must be one or more of the same length, got"):
        Table(columns, caption="c")


def test_what_has_no_named_columns_is_refused():
    with pytest.raises(TypeError, match="columns must be a DataFrame or a dict of columns, got list"):
        Table([[1], [2]], caption="c")
