"""The terms, how they are found in prose, and the links of a small book without a theme."""

import re
import subprocess
import sys

import pytest
import yaml
from docutils import nodes

from transformer_anatomy.page.glossary.matching import Matcher, first_use, mark_first_uses
from transformer_anatomy.page.glossary.terms import Term, read_glossary

ENTRY = {"id": "layer", "hans": "层", "hant": "層", "definition": "One of the like parts of a stack."}
LAYER = ENTRY | {"forms": ["layer", "layers"], "everyday": True}
NORM = ENTRY | {"id": "layer normalisation", "hans": "层归一化", "hant": "層歸一化", "taiwan": "層正規化",
                "forms": ["layer normalisation", "LayerNorm"], "documents": {"002": "層歸一化"}}  # fmt: skip
RELU = ENTRY | {"id": "ReLU", "hans": "ReLU", "hant": "ReLU", "symbol": "x_l", "explained": "slopes"}
ENTRIES = [LAYER, NORM, RELU]


def test_an_entry_has_its_words_its_forms_and_an_anchor(course):
    course("glossary.yml", ENTRIES)
    terms = read_glossary()
    assert list(terms) == ["layer", "layer normalisation", "ReLU"]
    norm = terms["layer normalisation"]
    assert norm.anchor == "term-layer-normalisation"
    assert norm.names == ("layer normalisation", "层归一化", "層歸一化", "層正規化")
    assert norm.documents == {"002": "層歸一化"} and not norm.everyday and terms["layer"].everyday
    assert terms["ReLU"].forms == ("ReLU",)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"hant": None}, ValueError, "entry 1 (layer): hant is empty"),
        ({"hans": 5}, TypeError, "hans must be text"),
        ({"french": "couche"}, ValueError, "has 'french'; accepted are id, hans, hant, definition, taiwan"),
        ({"forms": "layers"}, TypeError, "forms must be a list of words, got 'layers'"),
        ({"forms": ["layers", ""]}, TypeError, "forms must be a list of words"),
        ({"everyday": "yes"}, TypeError, "everyday must be true or false, got 'yes'"),
        ({"documents": ["000"]}, TypeError, "documents must be a mapping"),
        ({"documents": {0: "层"}}, ValueError, "documents has 0; accepted are 000, 001, 002, 004 in quotes"),
        ({"documents": {"003": "层"}}, ValueError, "documents has '003'; accepted are 000, 001, 002, 004"),
        ({"documents": {"000": ""}}, TypeError, "documents, 000 must be text"),
        (
            {"forms": ["layer", "LayerNorm"]},
            ValueError,
            "(layer normalisation): 'LayerNorm' already belongs to",
        ),
        ({"id": "Layer-normalisation"}, ValueError, "'term-layer-normalisation' already belongs to"),
    ],
)
def test_a_slip_in_an_entry_is_named(course, change, error, words):
    course("glossary.yml", [LAYER | change, NORM])
    with pytest.raises(error, match=re.escape(words)):
        read_glossary()


def test_a_missing_definition_is_named(course):
    course("glossary.yml", [{key: value for key, value in ENTRY.items() if key != "definition"}])
    with pytest.raises(ValueError, match="lacks 'definition'"):
        read_glossary()


def term(name, *forms):
    return Term(name, name, name, f"What {name} is.", forms=forms or (name,))


MATCHER = Matcher(
    [term("norm", "LayerNorm", "layer normalisation"), term("layer", "layer", "layers"), term("cls", "[CLS]"),
     term("weights", "weights"), term("attention weights")]
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Six layers, one layer.", [("layers", "layer"), ("layer", "layer")]),
        ("Layers learn", [("Layers", "layer")]),
        ("by layer normalisation of a layer", [("layer normalisation", "norm"), ("layer", "layer")]),
        ("attention weights, then weights", [("attention weights", "attention weights"), ("weights", "weights")]),
        ("layer\n normalisation", [("layer\n normalisation", "norm")]),
        ("LayerNorm’s, not layernorm or LAYERNORM", [("LayerNorm", "norm")]),
        ("[CLS] and [SEP]", [("[CLS]", "cls")]),
        ("layer-10, low-layer, player, layered, a_layer", []),
    ],
)
def test_whole_words_are_found_longest_first(text, found):
    assert [(text[start:end], name) for start, end, name in MATCHER.find(text)] == found


def test_without_terms_nothing_is_found():
    assert list(Matcher([]).find("layer")) == []


def document(*children):
    made = nodes.document(None, None)
    made += children
    return made


def marked(doctree):
    """The words that are marked, and what stands around them."""
    mark_first_uses(doctree, MATCHER)
    return [(use.astext(), use["term"]) for use in doctree.findall(first_use)]


def paragraph(*children):
    return nodes.paragraph("", "", *[nodes.Text(child) if isinstance(child, str) else child for child in children])


def test_only_the_first_use_on_a_page_is_marked_and_no_word_is_lost():
    page = document(paragraph("A layer, two layers."), paragraph("Layers, ", nodes.emphasis("", "weights"), " too"))
    before = page.astext()
    assert marked(page) == [("layer", "layer"), ("weights", "weights")]
    assert page.astext() == before


def test_a_term_across_a_line_break_is_one_link():
    assert marked(document(paragraph("by layer", "\n", "normalisation"))) == [("layer\nnormalisation", "norm")]


def test_a_longer_term_that_was_linked_before_does_not_give_its_parts_away():
    assert marked(document(paragraph("attention weights and attention weights"))) == [
        ("attention weights", "attention weights")
    ]


@pytest.mark.parametrize(
    "silent",
    [
        nodes.title("", "layer"),
        paragraph(nodes.literal("", "layer")),
        paragraph(nodes.math("", "layer")),
        paragraph(nodes.reference("", "layer", refuri="x")),
        paragraph(nodes.strong("", "Layer.")),
        paragraph(nodes.raw("", "<b>layer</b>", format="html")),
        nodes.literal_block("", "layer"),
        nodes.figure("", nodes.caption("", "layer"), nodes.legend("", paragraph("layer"))),
        nodes.table("", nodes.entry("", paragraph("layer"))),
        nodes.container("", paragraph("layer"), classes=["cell"]),
        nodes.container("", paragraph("layer"), design_component="dropdown"),
        nodes.citation("", paragraph("layer")),
    ],
    ids=lambda node: f"{node.tagname} {node.children[0].tagname}",
)
def test_what_is_no_running_prose_is_left_alone(silent):
    assert marked(document(silent, paragraph("weights"))) == [("weights", "weights")]


PAGES = {
    "index": "# A small book\n\nLayers and ReLU.\n\n```{toctree}\nfirst\nsecond\nglossary\n```",
    "first": "# Layers\n\nA layer, and `LayerNorm`.\n\n(slopes)=\n## LayerNorm\n\nLayerNorm here, LayerNorm there.",
    "second": "# The second\n\nLayers have LayerNorm and layers.",
    "glossary": "# Glossary\n\nA layer.\n\n```{glossary-table}\n```",
}


def write(root, entries=ENTRIES, **pages):
    """Leaves alone what is as it should be: pages are read again when the glossary's file is newer."""
    files = {f"{name}.md": words for name, words in (PAGES | pages).items()}
    files["glossary.yml"] = yaml.safe_dump(entries, allow_unicode=True)
    files["conf.py"] = 'extensions = ["myst_parser", "transformer_anatomy.page.glossary"]\nhtml_theme = "basic"\n'
    for name, words in files.items():
        if not (root / name).exists() or (root / name).read_text(encoding="utf-8") != words:
            (root / name).write_text(words, encoding="utf-8")


def build(root, *options):
    command = [sys.executable, "-m", "sphinx", "-n", *options, ".", "_build"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def links(root, page):
    """Words, target and id of each link from prose to the glossary."""
    html = (root / "_build" / f"{page}.html").read_text(encoding="utf-8")
    found = re.findall(r'<a class="(?=[^"]*\bterm\b)[^"]*"([^>]*)>(.*?)</a>', html)
    attribute = [dict(re.findall(r'(\w+)="([^"]*)"', attributes)) for attributes, _ in found]
    return [(words, a["href"], a.get("id")) for a, (_, words) in zip(attribute, found, strict=True)]


def entry(root, anchor):
    html = (root / "_build" / "glossary.html").read_text(encoding="utf-8")
    return re.search(rf'<dt id="{anchor}">.*?</dd>', html, re.S)[0]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The root of a small book; tests that change it work on what others left."""
    root = tmp_path_factory.mktemp("glossary")
    write(root)
    status, log = build(root, "-W", "--keep-going")
    assert status == 0, log
    return root


def test_a_term_is_linked_once_a_page_and_an_everyday_word_once_in_the_book(book):
    assert links(book, "first") == [
        ("layer", "glossary.html#term-layer", "first-layer"),
        ("LayerNorm", "glossary.html#term-layer-normalisation", "first-layer-normalisation"),
    ]
    assert links(book, "second") == [("LayerNorm", "glossary.html#term-layer-normalisation", None)]


def test_the_front_page_comes_last_and_the_glossary_has_no_links_to_itself(book):
    assert links(book, "index") == [("ReLU", "glossary.html#term-relu", "first-relu")]
    assert links(book, "glossary") == []


def test_a_link_carries_the_definition(book):
    html = (book / "_build" / "second.html").read_text(encoding="utf-8")
    assert 'title="One of the like parts of a stack."' in html


def test_an_entry_has_both_scripts_with_their_language_and_says_where_it_is_used(book):
    norm = entry(book, "term-layer-normalisation")
    assert '<span lang="zh-Hans">层归一化</span>' in norm and '<span lang="zh-Hant">層歸一化</span>' in norm
    assert '(Taiwan <span lang="zh-Hant-TW">層正規化</span>)' in norm
    assert 'First used in <a class="reference internal" href="first.html#first-layer-normalisation">Layers</a>' in norm
    assert "Document 002." in norm
    relu = entry(book, "term-relu")
    assert 'Explained under <a class="reference internal" href="first.html#slopes">LayerNorm</a> (Layers).' in relu
    assert 'href="index.html#first-relu"' in relu and "x<sub>l</sub>" in relu


def test_an_unchanged_book_writes_its_glossary_and_no_chapter(book):
    status, log = build(book, "-W")
    assert status == 0 and "reading sources... [" not in log, log
    assert not {"first", "second"} & set(re.findall(r"writing output\.\.\. \[ *\d+%\] (\w+)", log)), log


def test_the_first_use_moves_when_its_page_changes(book):
    write(book, first=PAGES["first"].replace("A layer, and", "And"))
    status, log = build(book, "-W")
    assert status == 0, log
    assert links(book, "second")[0] == ("Layers", "glossary.html#term-layer", "first-layer")
    assert 'href="second.html#first-layer"' in entry(book, "term-layer")
    write(book)
    status, log = build(book, "-W")
    assert status == 0, log
    assert [words for words, *_ in links(book, "second")] == ["LayerNorm"]


def test_a_changed_definition_reaches_every_page(book):
    write(book, [LAYER, NORM | {"definition": "A sphere."}, RELU])
    status, log = build(book, "-W")
    assert status == 0, log
    assert 'title="A sphere."' in (book / "_build" / "second.html").read_text(encoding="utf-8")


def test_pages_can_be_read_in_parallel(book, tmp_path):
    more = {f"page{n}": "# Another\n\nLayers." for n in range(6)}  # Sphinx shares out six pages or more
    toc = PAGES["index"].replace("first\n", "first\n" + "".join(f"{name}\n" for name in more))
    write(tmp_path, index=toc, **more)
    status, log = build(tmp_path, "-W", "-j", "2")
    assert status == 0, log
    assert [links(tmp_path, page) for page in more] == [[]] * 6
    assert links(tmp_path, "first")[0][2] == "first-layer"
    assert 'href="first.html#first-layer"' in entry(tmp_path, "term-layer")


def test_all_pages_on_one_have_the_same_links_and_each_leads_to_a_place_on_it(tmp_path):
    write(tmp_path)
    status, log = build(tmp_path, "-W", "-b", "singlehtml")
    assert status == 0, log
    found = links(tmp_path, "index")
    assert [anchor for _, _, anchor in found if anchor] == ["first-relu", "first-layer", "first-layer-normalisation"]
    html = (tmp_path / "_build" / "index.html").read_text(encoding="utf-8")
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(found) == 4 and len(ids) == len(set(ids))
    assert {href.rpartition("#")[2] for href in re.findall(r'href="([^"]*#(?:term|first)-[^"]*)"', html)} <= set(ids)


def test_a_term_that_nobody_uses_and_a_section_that_is_not_there_are_warnings(tmp_path):
    unused = ENTRY | {"id": "saddle"}
    write(tmp_path, [LAYER, NORM, RELU | {"explained": "nowhere"}, unused])
    status, log = build(tmp_path)
    assert status == 0
    assert "no page and no document uses 'saddle'" in log and log.count("no page and no document") == 1
    assert "'ReLU' is explained at 'nowhere', but no section has that label" in log


def test_a_book_without_a_page_for_it_has_no_links(tmp_path):
    write(tmp_path, glossary="# Nothing here")
    status, log = build(tmp_path, "-W")
    assert status == 0, log
    assert links(tmp_path, "first") == [] and "A layer, and" in (tmp_path / "_build" / "first.html").read_text()
