"""Counts of the ledger, as numbers and as sums that a browser works out."""

from dataclasses import replace

from transformer_anatomy.page.claims.ledger import Statement
from transformer_anatomy.page.claims.tally import Tally

ONE = Statement("S-a", "000", "1", "It is so.", "identity", "holds", "first")
STATEMENTS = [ONE, replace(ONE, chapter="second"), replace(ONE, verdict="slip", document="002", chapter="second")]
TALLY = Tally(STATEMENTS, ["second", "first", "third"])


def test_only_values_that_occur_are_kept_each_field_in_its_own_order():
    assert TALLY.values == {"verdict": ["holds", "slip"], "document": ["000", "002"], "chapter": ["second", "first"]}


def test_statements_are_counted_by_any_of_the_fields():
    assert [TALLY.total(), TALLY.total(verdict="holds"), TALLY.total(document="002", chapter="first")] == [3, 2, 0]


def test_a_live_count_multiplies_by_the_flags_of_what_it_follows_and_only_by_those():
    assert TALLY.live(("chapter",), verdict="holds") == "calc(1*var(--c0) + 1*var(--c1))"
    assert TALLY.live(("verdict", "document")) == "calc(2*var(--v0)*var(--d0) + 1*var(--v1)*var(--d1))"
    assert TALLY.live(("chapter",), verdict="slip", document="000") == "calc(0)"
