"""Every reference can be looked up, says so in one form, and is used."""

import re
from collections import Counter
from itertools import pairwise

import pytest
import yaml
from pybtex.database import parse_file

from tests.chapters import ROOT, notebooks

ENTRIES = parse_file(ROOT / "book" / "references.bib").entries
STATEMENTS = yaml.safe_load((ROOT / "book" / "claims.yml").read_text())
# Published without a DOI and without an arXiv number: each has an address instead.
ADDRESS_ONLY = {
    "glorot2010": "proceedings that give no DOI",
    "huang2020": "proceedings that give no DOI",
    "roy2007": "proceedings that give no DOI",
    "karpathy2016": "lecture notes",
    "radford2018": "a company's report, read beside its code",
    "radford2019": "a company's report, read beside its code",
    "minilm2021card": "the card of a model",
    "reimers2021card": "the card of a model",
    "tensor2tensor2018": "source code",
}
DOI = re.compile(r"10\.\d{4,5}/\S+")
ARXIV = re.compile(r"(\d\d)(0[1-9]|1[0-2])\.\d{4,5}")  # year and month, then a number


def cited() -> set[str]:
    pages = [page.prose for page in notebooks()] + [path.read_text() for path in (ROOT / "book").glob("*.md")]
    keys = {
        key.strip() for page in pages for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", page) for key in keys.split(",")
    }
    return keys | {key for entry in STATEMENTS for key in entry.get("sources", [])}


def test_all_that_is_cited_is_in_the_bibliography_and_the_other_way_round():
    assert cited() == set(ENTRIES)


@pytest.mark.parametrize("key", ENTRIES)
def test_a_reference_has_authors_a_title_a_year_and_a_place_where_it_can_be_found(key):
    entry = ENTRIES[key]
    assert entry.persons["author"] and entry.fields["title"] and re.fullmatch(r"(19|20)\d\d", entry.fields["year"])
    assert (
        key.startswith(re.sub(r"\W", "", str(entry.persons["author"][0].last_names[-1])).lower()) or key in ADDRESS_ONLY
    )
    assert entry.fields["year"] in key
    places = {place for place in ("doi", "eprint", "url") if place in entry.fields}
    assert places == ({"url"} if key in ADDRESS_ONLY else places - {"url"}) and len(places) == 1
    if "doi" in places:
        assert DOI.fullmatch(entry.fields["doi"])
    if "eprint" in places:
        assert entry.fields["archiveprefix"] == "arXiv"
        posted = 2000 + int(ARXIV.fullmatch(entry.fields["eprint"])[1])
        assert posted <= int(entry.fields["year"]) <= posted + 2  # proceedings follow a preprint


def test_no_reference_stands_twice_and_they_are_in_order():
    for field in ("doi", "eprint", "url", "title"):
        values = Counter(entry.fields[field].lower() for entry in ENTRIES.values() if field in entry.fields)
        assert [value for value, count in values.items() if count > 1] == []
    assert [pair for pair in pairwise(ENTRIES) if pair[0] > pair[1]] == []
