"""One setting decides whether pages have buttons that lead to the repository and to places that run them."""

import html
import re

import pytest
import yaml
from sphinx.errors import ConfigError

from tests.chapters import ROOT
from tests.page.test_sphinxext import CONFIG, STRICT, build, write_notebook
from transformer_anatomy.page.repository import with_buttons

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def links(root, url: str) -> dict[str, str]:
    """Text to address of every button of a notebook's page that leads out of the book, in a book with that address."""
    (root / "book").mkdir()
    for name, text in {"index.md": "# A book", "references.bib": ""}.items():
        (root / "book" / name).write_text(text)
    write_notebook(root / "book" / "first.ipynb", ["# The first chapter"])
    toc = {"format": "jb-book", "root": "book/index", "chapters": [{"file": "book/first"}]}
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))
    mine = {"repository": SETTINGS["repository"] | {"url": url}, "html": SETTINGS["html"]}
    (root / "_config.yml").write_text(yaml.safe_dump(CONFIG | mine))
    status, log = build(root, *STRICT)
    assert status == 0, log
    page = (root / "_build" / "html" / "book" / "first.html").read_text(encoding="utf-8")
    buttons = re.findall(r'<a href="(https?://[^"]+)"[^>]*\bclass="btn\b.*?</a>', page, re.DOTALL)
    texts = re.findall(r'<a href="https?:.*?btn__text-container">(.*?)</span>', page, re.DOTALL)
    assert "One cell comes first" in page or not buttons
    return {text.strip(): html.unescape(address) for text, address in zip(texts, buttons, strict=True)}


def test_without_an_address_no_button_leads_out_of_the_book(tmp_path):
    assert links(tmp_path, "") == {}


def test_with_one_every_button_leads_to_the_page(tmp_path):
    found = links(tmp_path, "https://github.com/someone/course")
    issue = found.pop("Open issue")
    assert issue.startswith("https://github.com/someone/course/issues/new?") and "book/first" in issue
    assert found == {
        "Repository": "https://github.com/someone/course",
        "Show source": "https://github.com/someone/course/blob/main/book/first.ipynb?plain=1",
        "Binder": "https://mybinder.org/v2/gh/someone/course/main?urlpath=lab/tree/book/first.ipynb",
        "Colab": "https://colab.research.google.com/github/someone/course/blob/main/book/first.ipynb",
    }


def test_the_book_itself_has_an_address_that_can_be_used_or_none():
    with_buttons({"repository_url": SETTINGS["repository"]["url"]})


def test_colab_opens_what_lies_on_github_only():
    assert "colab_url" in with_buttons({"repository_url": "https://github.com/someone/course"})["launch_buttons"]
    elsewhere = with_buttons({"repository_url": "https://gitlab.com/someone/course"})["launch_buttons"]
    assert "colab_url" not in elsewhere and elsewhere["binderhub_url"]


def test_a_hub_has_a_button_where_one_is_named():
    hub = {"jupyterhub_url": "https://hub.example.org"}
    both = with_buttons({"repository_url": "https://github.com/someone/course", "launch_buttons": hub})
    assert both["launch_buttons"]["jupyterhub_url"] == "https://hub.example.org"
    assert "launch_buttons" not in with_buttons({"repository_url": "", "launch_buttons": hub})


@pytest.mark.parametrize("address", ["github.com/someone/course", "https://github.com/someone", "git@github.com:a/b"])
def test_an_address_that_no_button_could_use_is_refused(address):
    with pytest.raises(ConfigError, match=r"https://host/owner/name or empty, got"):
        with_buttons({"repository_url": address})
