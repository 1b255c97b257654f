"""What docutils and the theme get wrong for a screen reader, as a page is written."""

from transformer_anatomy.page.landmarks import TEMPLATES, corrected

CITATION = '<div role="list"><div class="citation" role="doc-biblioentry"><p><a href="x">A</a></p></div></div>'
TABLE = '<tr><th class="head"><p></p></th>\n<th class="head"><p>one</p></th></tr>'


def test_a_source_is_an_item_of_its_list():
    assert corrected(CITATION).count('role="listitem"') == 1
    assert "biblioentry" not in corrected(CITATION)


def test_the_corner_of_a_table_heads_nothing_and_a_head_stays_one():
    assert corrected(TABLE) == '<tr><td></td>\n<th class="head"><p>one</p></th></tr>'


def test_the_name_of_the_book_stands_in_a_landmark():
    assert 'role="banner"' in (TEMPLATES / "navbar-logo.html").read_text()


def test_a_fold_has_the_name_that_stands_on_it():
    assert (
        corrected('<summary aria-label="Toggle hidden content"><p>Code</p></summary>')
        == "<summary><p>Code</p></summary>"
    )
