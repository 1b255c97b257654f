"""Code on a page: what the style sheet sets apart is marked, and nothing else."""

import re
from html import unescape

from pygments import highlight
from pygments.lexers import PythonLexer

from transformer_anatomy.page.assets import asset
from transformer_anatomy.page.highlighting import InkFormatter

CODE = '''"""A sentence."""
from math import exp
for k in range(3):
    if k is not None and k < 2:  # twice
        print(f"{exp(k):.2f}", True)
'''
MARKED = re.compile(r'<span class="(\w+)">(.*?)</span>', re.DOTALL)


def test_words_of_the_language_strings_and_comments_are_marked_and_nothing_else():
    marked = MARKED.findall(highlight(CODE, PythonLexer(), InkFormatter()))
    words = {kind: [unescape(words) for other, words in marked if other == kind] for kind, _ in marked}
    assert words == {
        "k": ["from", "import", "for", "in", "if", "is", "not", "None", "and", "True"],
        "s": ['"""A sentence."""', 'f"{', ':.2f}"'],
        "c": ["# twice"],
    }


def test_the_style_sheet_sets_each_mark_apart():
    assert set(re.findall(r"\.(k|s|c)\b(?=[^{]*\{ (?:font-weight|color))", asset("anatomy.css"))) == {"k", "s", "c"}
