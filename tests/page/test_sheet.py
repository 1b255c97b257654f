import pytest

from transformer_anatomy import plot_lines
from transformer_anatomy.page.plotting.sheet import Sheet


def test_pictures_stand_side_by_side_in_both_themes_with_their_words():
    pictures = [plot_lines({name: [1.0, 2.0]}, alt=f"a <{name}> line") for name in ("stream", "entropy")]
    markup = Sheet(pictures)._repr_html_()
    assert markup.count("<img") == 4 and "display:grid" in markup
    for theme in ("light", "dark"):
        assert markup.count(f'class="picture only-{theme}"') == 2
    assert markup.count('alt="a &lt;stream&gt; line"') == 2
    assert repr(Sheet(pictures)) == "<Sheet: a <stream> line; a <entropy> line>"


def test_a_sheet_is_not_empty():
    with pytest.raises(ValueError, match="pictures must hold at least one picture"):
        Sheet([])
