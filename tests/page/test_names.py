import re
import sys
from types import ModuleType

import pytest

import transformer_anatomy
from transformer_anatomy import Names
from transformer_anatomy.page.names import docstring, first_sentence


def test_every_public_name_is_there_once_in_its_room_with_a_sentence_of_its_own():
    names = Names()
    listed = [name for room in names.rooms.values() for name in room]
    assert sorted(listed) == sorted(transformer_anatomy.__all__)
    assert names.rooms["lab"]["fit"] == "transformer_anatomy.lab.training"
    for line in repr(names).splitlines():
        name, _, says = line.partition(": ")
        assert name in listed and 10 < len(says) < 200 and says.endswith((".", "?", ":")), line


def test_a_name_opens_to_its_signature_and_its_whole_docstring():
    entry = re.search(r'<details id="library-attention_distance">.*?</details>', Names()._repr_html_(), re.DOTALL)[0]
    assert "<code>attention_distance</code> <span>Mean distance <code>Σ a·|query - key|</code>" in entry
    assert "<pre>attention_distance(weights)</pre><p>Mean distance" in entry and "has no position.</p>" in entry


def test_code_and_tables_of_a_docstring_are_code_and_tables():
    entry = re.search(r'<details id="library-fit">.*?</details>', Names()._repr_html_(), re.DOTALL)[0]
    assert "<pre>def batches(generator):\n    return text[" in entry and "\n\ndef loss(model, batch):" in entry
    assert '<th scope="col">argument</th>' in entry and "<td><code>batches</code></td><td>takes a" in entry
    assert "|" not in entry


def test_no_address_in_memory_is_shown():
    assert not re.search(r"0x[0-9a-f]{6}|&lt;(class|function)", Names()._repr_html_())


def test_each_room_says_what_it_is_for():
    rooms = re.findall(r'<h3 id="library-\w+">(\w+)</h3><p>(.+?)</p>', Names()._repr_html_())
    assert [room for room, _ in rooms] == ["model", "instruments", "lab", "page"]
    assert all(says.endswith(".") for _, says in rooms)


def test_a_constant_is_described_by_the_string_below_it(tmp_path, monkeypatch):
    (tmp_path / "constants.py").write_text(
        'A = (1, 2)\n"""One and two.\n\n    More.\n    """\nB = 3\nC = 4\n"""Four."""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert (docstring("A", "constants"), docstring("C", "constants")) == ("One and two.\n\nMore.", "Four.")
    with pytest.raises(KeyError):
        docstring("B", "constants")
    assert isinstance(sys.modules.pop("constants"), ModuleType)


def test_a_sentence_ends_where_the_next_one_begins():
    assert first_sentence("Six vectors: `x`. They are\nlong.") == "Six vectors: `x`."
    assert first_sentence("Reimers et al. 2019\nfound it.\n\nMore.") == "Reimers et al. 2019 found it."
    assert first_sentence("A row of 1. `mask` hides.") == "A row of 1."
