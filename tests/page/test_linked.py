from types import SimpleNamespace
from unittest.mock import create_autospec

import pytest
import torch
from sphinx.application import Sphinx
from sphinx.builders.html._assets import _CascadingStyleSheet, _JavaScript

from tests.page.test_layers import figure as layers_figure
from transformer_anatomy import explore
from transformer_anatomy.page import linked
from transformer_anatomy.page.assets import STATIC


def chosen(body, scripts=()):
    app = create_autospec(Sphinx)
    app.config = SimpleNamespace(mathjax_path="mathjax/tex-chtml.js")
    context = {"body": body, "script_files": scripts, "js_tag": lambda script: f'<script src="../{script.filename}">'}
    context["pathto"] = lambda name, resource: f"../{name}"
    linked._choose(app, "page", "page.html", context, None)
    return [(*call.args, call.kwargs) for call in app.add_js_file.call_args_list], context


def ours(body):
    """What `chosen` adds besides the scripts of every page."""
    added, context = chosen(body)
    everywhere = {"reach.js", "print.js", "mathjax/tex-chtml.js"}
    assert everywhere <= {name for name, _ in added}
    return [(name, attributes) for name, attributes in added if name not in everywhere], context


@pytest.fixture(autouse=True)
def book(monkeypatch):
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")


def test_a_page_gets_those_of_our_scripts_that_something_on_it_needs():
    plain = explore(lambda n: torch.eye(2), title="t", alt="a", n=[1, 2]).figure()
    assert ours("<p>text</p>")[0] == []
    assert [name for name, _ in ours(plain)[0]] == ["explore.js"]
    assert [name for name, _ in ours(layers_figure().figure())[0]] == ["layers.js", "explore.js"]
    assert [name for name, _ in ours('<div class="check anatomy">')[0]] == ["answers.js"]
    assert [name for name, _ in ours('<div class="predict anatomy">')[0]] == ["answers.js"]


def test_the_script_of_a_kind_comes_before_the_one_that_calls_it():
    priorities = [attributes["priority"] for _, attributes in ours(layers_figure().figure())[0]]
    assert priorities == sorted(priorities) and len(set(priorities)) == 2


def test_others_scripts_and_styles_stay_where_something_uses_them():
    files = [
        _JavaScript("_static/design-tabs.js"),
        _JavaScript("_static/togglebutton.js"),
        _JavaScript("", body="let toggleHintShow = 'Click';"),
        _JavaScript("_static/sphinx-thebe.js"),
        _JavaScript("_static/mathjax/tex-chtml.js"),
        _CascadingStyleSheet("_static/togglebutton.css"),
        _JavaScript("_static/doctools.js"),
    ]

    def kept(body):
        return [files.index(asset) for asset in linked.used(files, body)]

    assert kept("<p>text</p>") == [6]
    assert kept('<input class="sd-tab-input">') == [0, 6]
    assert kept('<div class="toggle docutils">') == [1, 2, 5, 6]
    assert kept('<span class="math notranslate">') == [4, 6]


def test_a_page_without_mathematics_fetches_it_for_the_next():
    mathjax = _JavaScript("_static/mathjax/tex-chtml.js")
    _, context = chosen("<p>text</p>", [mathjax])
    assert context["script_files"] == []
    assert context["prefetched"][0] == "../_static/mathjax/tex-chtml.js"
    assert "../_static/mathjax/output/chtml/fonts/woff-v2/MathJax_Main-Regular.woff" in context["prefetched"]
    _, context = chosen('<span class="math">x</span>', [mathjax])
    assert context["script_files"] == [mathjax] and "prefetched" not in context


def test_a_script_is_taken_out_by_its_name_and_the_others_stay():
    head = '<script src="a/one.js?v=1"></script>\n<script defer src="two.js"></script><script>three()</script>'
    assert linked.without_scripts(head, "one.js") == '<script defer src="two.js"></script><script>three()</script>'
    assert linked.without_scripts(head, "one.js", "two.js") == "<script>three()</script>"


@pytest.mark.parametrize("name", linked.SCRIPTS)
def test_a_minified_script_is_less_than_two_thirds(name):
    minify = pytest.importorskip("minify", reason="not built for this machine")
    written = (STATIC / name).read_text(encoding="utf-8")
    assert len(minify.string("application/javascript", written)) < 2 / 3 * len(written)
