import html
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer_anatomy.page.claims import ClaimError, claim
from transformer_anatomy.page.claims.bands import Band, band
from transformer_anatomy.page.claims.evidence import Evidence
from transformer_anatomy.page.claims.icons import ICONS
from transformer_anatomy.page.claims.labels import NOMINAL, Label
from transformer_anatomy.page.claims.ledger import VERDICTS, read_ledger
from transformer_anatomy.page.claims.strip import strip
from transformer_anatomy.page.course import course_file
from transformer_anatomy.page.numerals import value_text
from transformer_anatomy.page.typography import marked, marked_svg

ENTRY = {
    "id": "S0-3.4-a",
    "document": "000",
    "section": "3.4",
    "statement": "Scores of 4.2 and 3.8 give weights in the ratio 2 & more.",
    "kind": "arithmetic",
    "verdict": "slip",
    "says": {"near": 2.0, "within": 0.1},
    "chapter": "attention_math",
}


@pytest.fixture
def ledger(course):
    """A function that writes a ledger of one entry, ENTRY with changes; None removes a key."""

    def write(**changes):
        course("claims.yml", [{key: value for key, value in (ENTRY | changes).items() if value is not None}])

    write()
    return write


# What each verdict demands of the measurement, with a band from 1.9 to 2.1


@pytest.mark.parametrize(
    ("verdict", "inside", "outside", "partly"),
    [
        ("holds", True, False, False),
        ("slip", False, True, False),
        ("contradicted", False, True, False),
        ("unsupported", False, True, True),
    ],
)
def test_a_verdict_is_supported_by_some_measurements_and_not_by_others(ledger, shown, verdict, inside, outside, partly):
    ledger(verdict=verdict)
    for measured, supported in ((2.0, inside), (1.49, outside), ([2.0, 1.49, 2.05], partly), ([2.0, 2.05], inside)):
        if supported:
            with shown() as output:
                claim("S0-3.4-a", measured=measured)
            assert len(output.outputs) == 1
        else:
            with shown() as output, pytest.raises(ClaimError, match=f"recorded as '{verdict}'"):
                claim("S0-3.4-a", measured=measured)
            assert not output.outputs  # no card says "holds" of what does not


@pytest.mark.parametrize(
    ("measured", "otherwise", "supported"),
    [
        (2.0, 1.0, True),
        (1.0, 1.0, False),
        (2.0, 2.05, False),
        ([2.0, 1.0], 1.0, False),
        (2.0, [1.0, 2.0], False),
        ([1.95, 2.05], [1.0, 3.0], True),
    ],
)
def test_a_condition_needs_the_statement_to_hold_inside_and_to_fail_otherwise(
    ledger, shown, measured, otherwise, supported
):
    ledger(verdict="holds under a condition")
    with shown():
        if supported:
            claim("S0-3.4-a", measured=measured, otherwise=(otherwise, "trained"))
        else:
            with pytest.raises(ClaimError):
                claim("S0-3.4-a", measured=measured, otherwise=(otherwise, "trained"))


def test_a_condition_without_its_counterexample_is_refused(ledger):
    ledger(verdict="holds under a condition")
    with pytest.raises(ValueError, match="otherwise"):
        claim("S0-3.4-a", measured=2.0)


def test_a_counterexample_belongs_to_a_condition_only(ledger):
    with pytest.raises(ValueError, match="otherwise"):
        claim("S0-3.4-a", measured=1.49, otherwise=(1.0, "trained"))


@pytest.mark.parametrize(
    ("criteria", "good", "bad"),
    [
        ({"near": 1.49, "within": 0.01}, 1.492, 1.6),
        ({"above": 1.0}, 1.2, 1.0),
        ({"below": 1.5}, 1.49, 1.5),
        ({"above": 1.0, "below": 1.5}, 1.2, 0.9),
        ({"between": (1.4, 1.5)}, 1.5, 1.51),
    ],
)
def test_the_chapter_says_where_the_measurement_must_lie_whatever_the_verdict(ledger, shown, criteria, good, bad):
    for changes in ({}, {"says": None}, {"verdict": "unsupported", "says": None}):
        ledger(**changes)
        with shown():
            claim("S0-3.4-a", measured=[good, good], **criteria)
            with pytest.raises(ClaimError):
                claim("S0-3.4-a", measured=[good, bad], **criteria)


def test_a_condition_without_a_band_of_its_own_is_judged_by_the_chapter_s(ledger, shown):
    ledger(verdict="holds under a condition", says=None)
    with shown():
        claim("S0-3.4-a", measured=2.0, otherwise=(0.5, "trained"), above=1)
        with pytest.raises(ClaimError, match="trained"):
            claim("S0-3.4-a", measured=2.0, otherwise=(1.5, "trained"), above=1)


def test_what_the_document_says_judges_the_counterexample_before_the_chapter_s_criterion(ledger, shown):
    ledger(verdict="holds under a condition", says={"above": 1})
    with shown():
        claim("S0-3.4-a", measured=3.0, otherwise=(0.5, "trained"), below=4)
        with pytest.raises(ClaimError, match="trained"):
            claim("S0-3.4-a", measured=3.0, otherwise=(5.0, "trained"), below=4)


def test_no_measurement_decides_an_opinion(ledger):
    ledger(verdict="opinion", says=None)
    with pytest.raises(ValueError, match=r"S0-3\.4-a is recorded as an opinion"):
        claim("S0-3.4-a", measured=1.0, above=0)


def test_a_claim_that_nothing_could_make_fail_is_refused(ledger):
    ledger(says=None)
    with pytest.raises(ValueError, match=r"nothing could make S0-3\.4-a fail"):
        claim("S0-3.4-a", measured=1.49)


def test_a_claim_about_an_entry_that_is_recorded_as_unchecked_is_refused(ledger):
    ledger(says=None, unchecked="no data here")
    with pytest.raises(ValueError, match="no data here"):
        claim("S0-3.4-a", measured=1.49, near=1.49, within=0.01)


@pytest.mark.parametrize("broken", [float("nan"), float("inf"), [1.49, float("nan")], torch.tensor(float("nan"))])
def test_a_measurement_that_is_not_finite_supports_nothing(ledger, broken):
    with pytest.raises(ClaimError, match="finite"):
        claim("S0-3.4-a", measured=broken)


@pytest.mark.parametrize("wrong", ["1.49", None, True, [], [[1.0, 2.0]], {"a": 1}, [True], 1 + 2j])
def test_a_measurement_is_a_number_or_several(ledger, wrong):
    with pytest.raises(TypeError, match="measured must be a number"):
        claim("S0-3.4-a", measured=wrong)


@pytest.mark.parametrize(
    "measured",
    [1, 1.0, (1, 1), torch.tensor(1.0, requires_grad=True), torch.ones(3), [torch.tensor(1.0), 1], np.ones(2)],
)
def test_numbers_tensors_arrays_and_lists_of_them_are_measurements(ledger, shown, measured):
    with shown():
        claim("S0-3.4-a", measured=measured)


def test_an_unknown_id_is_answered_with_the_nearest(ledger):
    with pytest.raises(ValueError, match=r"identifier 'S0-3\.4-b' is not in claims\.yml; near to it: S0-3\.4-a"):
        claim("S0-3.4-b", measured=1.0)


@pytest.mark.parametrize(
    ("criteria", "words"),
    [
        ({"near": 1}, "near and within together"),
        ({"within": 1}, "near and within together"),
        ({"near": 1, "within": -1}, "must not be negative"),
        ({"near": 1, "within": 1, "above": 1}, "together and alone"),
        ({"between": (1, 2), "above": 1}, "must stand alone"),
        ({"between": (2, 1)}, "leaves nothing between"),
        ({"above": 2, "below": 2}, "leaves nothing between"),
        ({"between": (1, 2, 3)}, "two numbers"),
    ],
)
def test_criteria_that_do_not_go_together_are_refused(ledger, criteria, words):
    with pytest.raises(ValueError, match=words):
        claim("S0-3.4-a", measured=1.49, **criteria)


@pytest.mark.parametrize("otherwise", [1.0, (1.0,), (1.0, ""), (1.0, 2.0, 3.0)])
def test_the_counterexample_comes_with_a_label(ledger, otherwise, unchecked):
    ledger(verdict="holds under a condition")
    with pytest.raises(TypeError, match=r"otherwise must be \(value, label\)"):
        claim("S0-3.4-a", measured=2.0, otherwise=otherwise)


# The card


def card_of(shown, *arguments, **options):
    with shown() as output:
        claim(*arguments, **options)
    return output.outputs[0].data["text/html"]


def test_the_card_says_verdict_place_statement_measurement_note_and_what_would_overturn_it(ledger, shown):
    ledger(right="The ratio is exp 0.4.", quantity="the ratio")
    card = card_of(shown, "S0-3.4-a", measured=1.492, near=1.49, within=0.01, note="Among 7 keys & one more.")
    text = html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", card, flags=re.S))
    text = " ".join(text.split())
    for words in (
        "Slip Document 000 §3.4 · S0-3.4-a",
        "ratio 2 & more.",
        "The ratio is exp 0.4.",
        "1.49 2.0 ± 0.1",
        "Among 7 keys & one more.",
        "Falls if the ratio leaves 1.48 to 1.5.",
    ):
        assert words in text
    assert 'id="S0-3.4-a"' in card
    assert ICONS["slip"] in card


def test_the_card_carries_its_measurement_for_the_ledger(ledger, shown):
    ledger(verdict="holds under a condition")
    card = card_of(shown, "S0-3.4-a", measured=[2, 2.05], otherwise=(1.0, "trained"), above=1)
    data = json.loads(html.unescape(re.search(r'data-claim="([^"]*)"', card)[1]))
    assert data["id"] == "S0-3.4-a"
    evidence = Evidence.from_dict(data)
    assert evidence == Evidence((2.0, 2.05), (1.0,), "trained", Band(1, float("inf"), True, "above 1"))


def test_a_card_needs_nothing_else_outside_the_book_and_leaves_the_style_to_the_page_inside(ledger, shown, monkeypatch):
    outside = card_of(shown, "S0-3.4-a", measured=1.0)
    assert "--paper: light-dark" in outside and ".claim" in outside and "<link" not in outside
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert "<style>" not in card_of(shown, "S0-3.4-a", measured=1.0)


def test_a_verdict_has_an_icon_of_its_own_and_a_word_and_no_colour(ledger, shown):
    assert set(VERDICTS) < set(ICONS)
    assert len({ICONS[verdict] for verdict in VERDICTS}) == len(VERDICTS)
    for verdict, options in (("holds", {"measured": 2.0}), ("contradicted", {"measured": 1.0})):
        ledger(verdict=verdict)
        card = card_of(shown, "S0-3.4-a", **options).split("</style>")[-1]
        assert f"<b>{verdict.capitalize()}</b>" in card
        assert not re.search(r"#[0-9a-f]{6}|color", card)


@pytest.mark.parametrize(
    ("verdict", "says", "options", "sentence"),
    [
        ("holds", {"below": 1e-6}, {"measured": 0}, "Falls if the measurement rises to 10⁻⁶ or above."),
        ("holds", {"above": -5}, {"measured": 0}, "Falls if the measurement drops to −5 or below."),
        (
            "holds under a condition", {"above": 0.99}, {"measured": 1, "otherwise": (0.8, "trained")},
            "Falls if the measurement drops to 0.99 or below, or if the hollow dot (trained) rises above 0.99.",
        ),
        ("contradicted", {"below": 0}, {"measured": 1}, "Falls if the measurement drops below 0."),
        ("unsupported", {"near": 30, "within": 3}, {"measured": [12, 44]},
         "Falls if a source appears, or if every measurement comes between 27 and 33."),
    ],
)  # fmt: skip
def test_the_card_says_what_would_overturn_the_verdict(ledger, shown, verdict, says, options, sentence):
    ledger(verdict=verdict, says=says)
    assert marked(sentence) in card_of(shown, "S0-3.4-a", **options)


def test_what_is_measured_is_named_once_where_two_ways_follow_each_other(ledger, shown):
    card = card_of(shown, "S0-3.4-a", measured=1.492, below=2)
    assert "Falls if the measurement comes between 1.9 and 2.1, or if it rises to 2 or above." in card


def test_a_way_to_fall_that_includes_the_other_is_named_alone(ledger, shown):
    card = card_of(shown, "S0-3.4-a", measured=1.492, near=1.49, within=0.01)
    assert "Falls if the measurement leaves 1.48 to 1.5." in card


def test_words_and_numbers_of_a_card_are_set_as_mathematics_and_its_data_stay_as_they_are(ledger, shown):
    ledger(statement="W_Q & d_model.", right="It is e^0.4.", says={"near": 2, "within": 0.1, "text": "d_k"})
    card = card_of(shown, "S0-3.4-a", measured=1e-9, note="σ² at i + 1")
    for words in ("W<sub>Q</sub> &amp; d<sub>model</sub>.", "e<sup>0.4</sup>", "σ<sup>2</sup> at i\xa0+\xa01"):
        assert words in card
    assert re.search(r"10<tspan [^>]*>−9</tspan></text>", card) and re.search(r">d<tspan [^>]*>k</tspan></text>", card)
    assert 'aria-label="slip: W_Q &amp; d_model."' in card
    assert 'aria-label="the document says d_k; measured 10⁻⁹"' in card


# The measuring strip


def marks(svg):
    """Kind to position in percent."""
    places = re.findall(r'class="(at|open)" cx="([\d.]+)%', svg)
    return {kind: float(place) for kind, place in places}


def grey(svg):
    return tuple(map(float, re.search(r'class="says" x="([\d.-]+)%" width="([\d.]+)%"', svg).groups()))


@pytest.mark.parametrize("value", [-1e6, -3.0, 1.85, 1.9, 2.0, 2.1, 2.2, 7.0, 1e3, 1e9])
def test_a_dot_lies_in_the_grey_band_exactly_when_the_document_is_right(value):
    says = band("", {"near": 2.0, "within": 0.1})
    svg = strip(says, Evidence((value,)))
    start, width = grey(svg)
    assert width >= 1.5
    if marks(svg):
        assert (start - 0.01 <= marks(svg)["at"] <= start + width + 0.01) == (value in says)
    else:  # too far off for the axis: an arrow at the edge says so
        assert value not in says
        assert re.search("→ " if value > 2 else "← ", svg)


def test_a_band_that_is_open_to_one_side_reaches_the_end_of_the_axis():
    start, width = grey(strip(band("", {"above": 1}), Evidence((1e5,))))
    assert start + width == pytest.approx(100)
    assert grey(strip(band("", {"below": 1}), Evidence((1e-5,))))[0] == 0


def test_the_spread_is_a_bar_around_the_mean_and_the_counterexample_a_hollow_dot():
    svg = strip(band("", {"above": 0}), Evidence((0.1, 0.3), (-0.5,), "trained"))
    start, end = map(float, re.search(r'class="range" x1="([\d.]+)%" x2="([\d.]+)%"', svg).groups())
    assert start < marks(svg)["at"] < end
    assert marks(svg)["open"] < start
    assert "−0.50 · trained" in svg and ">0.20<" in svg
    assert 'aria-label="the document says above 0; measured 0.20, −0.50 · trained"' in svg
    assert "range" not in strip(None, Evidence((0.1, 0.1)))


@pytest.mark.parametrize(
    ("measured", "text", "dots"), [((1,), "1", 1), ((3, 2), "2 and 3", 2), ((2, 5, 2, 3), "2 to 5", 3)]
)
def test_counts_are_shown_as_they_are_and_not_their_mean(measured, text, dots):
    svg = strip(band("", {"below": 1.5}), Evidence(measured))
    assert f">{text}<" in svg
    assert len(re.findall('class="at"', svg)) == dots


def test_a_count_is_what_the_cell_hands_over_as_an_int(ledger, shown):
    ledger(verdict="holds", says={"above": 0.5})
    for measured, text in ((1, ">1<"), (torch.tensor([1, 2]), ">1 and 2<"), (1.0, ">1.00<"), ([1, 2.0], ">1.50<")):
        assert text in card_of(shown, "S0-3.4-a", measured=measured)


def lines_of(svg):
    """Of each line of text in a strip as narrow as any: baseline, left and right end in px, share and anchor."""
    for x, y, anchor, text in re.findall(r'x="([\d.]+)%" y="(\d+)" text-anchor="(\w+)">(.*?)</text>', svg):
        width = Label(0, html.unescape(re.sub(r"<[^>]+>", "", text))).width
        start = float(x) / 100 * NOMINAL - {"start": 0, "middle": 0.5, "end": 1}[anchor] * width
        yield int(y), start, start + width, (x, anchor)


@pytest.mark.parametrize("value", [0.1, 0.5, 0.9, 0.98, 1.0, 1.02])
@pytest.mark.parametrize("label", ["n = 20", "entries of mean ½", "MiniLM's tokens", "in the encoder after training"])
@pytest.mark.parametrize("text", ["about 1", "a weight depends on the place of its key and on nothing else"])
def test_texts_of_the_strip_never_lie_on_each_other_nor_leave_it(value, label, text):
    svg = strip(band("", {"near": 1.05, "within": 0.04, "text": text}), Evidence((1.05,), (value,), label))
    lines = sorted(lines_of(svg))
    for y, start, end, _ in lines:
        assert start >= -0.1 and end <= NOMINAL + 0.1
        assert y < int(re.search(r'height="(\d+)"', svg)[1])
    for (y, _, end, _), (below, start, _, _) in pairwise(lines):
        assert below - y >= 14 or (y == below and start - end >= 9)
    axis = int(re.search(r"translate\(0 (\d+)\)", svg)[1])
    assert len({place for y, _, _, place in lines if y > axis}) == 1  # the lines below the axis are aligned alike
    above = [y for y, _, _, _ in lines if y < axis]
    assert max(above) == axis - 11 and len(above) >= 2


def test_a_value_that_rounds_to_the_edge_shows_on_which_side_it_lies():
    assert ">2.104<" in strip(band("", {"near": 2.0, "within": 0.1}), Evidence((2.104,)))
    assert ">0.9901<" in strip(band("", {"above": 0.99}), Evidence((0.9901,)))
    assert ">0.99<" in strip(band("", {"above": 0.98}), Evidence((0.9901,)))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.571, "0.57"), (64.01, "64.0"), (0.000001, "10⁻⁶"), (-0.162, "−0.16"), (0.0123, "0.012"), (12345.6, "12,346"),
     (0.0, "0"), (-0.0, "0"), (1e-6 * 2.34, "2.3·10⁻⁶"), (-5e-9, "−5·10⁻⁹"), (-1e-9, "−10⁻⁹"), (2.5e7, "2.5·10⁷"),
     (3.0, "3.00"), (3, "3"), (1048576, "1,048,576")],
)  # fmt: skip
def test_measured_numbers_are_written_with_sensible_digits(value, text):
    assert value_text(value) == text
    assert marked_svg(text) in strip(None, Evidence((value,)))


@pytest.mark.parametrize(
    ("says", "text"),
    [({"near": 2, "within": 0.1}, "2.0 ± 0.1"), ({"near": 0.333, "within": 0.01}, "0.333 ± 0.01"),
     ({"above": 0}, "above 0"),
     ({"below": 1e-6}, "below 10⁻⁶"), ({"near": 0, "within": 1e-6}, "0 ± 10⁻⁶"),
     ({"between": [-5, 5]}, "−5 to 5"), ({"near": 4, "within": 0}, "4"),
     ({"below": "1e-6"}, "below 10⁻⁶"), ({"above": 1, "text": "more"}, "more")],
)  # fmt: skip
def test_a_band_is_put_into_words(says, text):
    assert band("", says).text == text


# The ledger itself


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verdict": "true"}, r"entry 1 \(S0-3.4-a\): verdict must be one of holds"),
        ({"kind": "guess"}, r"entry 1 \(S0-3.4-a\): kind must be one of identity"),
        ({"statement": None}, r"\(S0-3.4-a\) lacks 'statement'"),
        ({"id": None}, "entry 1 .* lacks 'id'"),
        ({"document": 0}, r"\(S0-3.4-a\): document must be text"),
        ({"statement": " "}, "statement must be text"),
        ({"colour": "red"}, r"\(S0-3.4-a\) has 'colour'; accepted are id"),
        ({"says": 2.0}, "says must be a mapping"),
        ({"says": {}}, "says gives no bound; accepted are near"),
        ({"says": {"above": "1.2.3"}}, "says.above must be a finite number"),
        ({"says": {"above": "²"}}, "says.above must be a finite number"),
        ({"id": ["S0"]}, "id must be text"),
        ({"says": {"near": 2.0}}, "says must give near and within together"),
        ({"says": {"about": 2.0}}, "says has 'about'; accepted are near"),
        ({"says": {"above": "much"}}, "says.above must be a finite number"),
        ({"says": {"above": float("nan")}}, "says.above must be a finite number"),
        ({"says": {"text": "much"}}, "has a text but no bound"),
        ({"says": {"above": 1, "text": 3}}, "says.text must be a string"),
        ({"sources": "vaswani2017"}, "sources must be a list"),
        ({"unchecked": "no data"}, "both 'says' and 'unchecked'"),
        ({"verdict": "opinion"}, "no measurement decides an opinion"),
    ],
)
def test_a_slip_in_the_ledger_is_reported_with_entry_and_key(ledger, changes, words):
    ledger(**changes)
    with pytest.raises((ValueError, TypeError), match=words):
        read_ledger()


def test_an_id_that_occurs_twice_is_refused(course):
    course("claims.yml", [ENTRY, ENTRY])
    with pytest.raises(ValueError, match=r"entry 2 \(S0-3.4-a\) has an id that is taken"):
        read_ledger()


@pytest.mark.parametrize(
    ("added", "words"),
    [("  says:", r"\(S0-3.4-a\): says is empty"), ("  verdict: holds", "line 1 has 'verdict' twice")],
)
def test_a_key_that_is_empty_or_double_is_refused(ledger, tmp_path, added, words):
    ledger(says=None)
    path = tmp_path / "book" / "claims.yml"
    path.write_text(f"{path.read_text()}{added}\n")
    with pytest.raises(ValueError, match=words):
        read_ledger()


@pytest.mark.parametrize(("entries", "words"), [({"a": 1}, "must be a list"), (["S0"], "entry 1 must be a mapping")])
def test_a_ledger_is_a_list_of_mappings(course, entries, words):
    course("claims.yml", entries)
    with pytest.raises(TypeError, match=words):
        read_ledger()


def test_the_ledger_is_found_from_the_repository_from_the_book_and_from_below(ledger, tmp_path, monkeypatch):
    (tmp_path / "book" / "below").mkdir()
    for folder in (tmp_path, tmp_path / "book", tmp_path / "book" / "below"):
        monkeypatch.chdir(folder)
        assert list(read_ledger()) == ["S0-3.4-a"]


def test_without_a_ledger_the_error_says_where_it_was_looked_for_and_where_to_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    book = Path(__file__).parents[2] / "book"
    with pytest.raises(FileNotFoundError, match=rf"claims\.yml is neither in .*: %cd {re.escape(str(book))}$"):
        read_ledger()
    with pytest.raises(FileNotFoundError, match=r"nothing\.yml is neither in .*: %cd path/to/the/course/book$"):
        course_file("nothing.yml")


def test_the_ledger_is_read_again_when_it_changes(ledger):
    assert read_ledger()["S0-3.4-a"].verdict == "slip"
    ledger(verdict="holds")
    assert read_ledger()["S0-3.4-a"].verdict == "holds"


def test_the_ledger_of_the_course_is_valid(request):
    assert read_ledger(request.config.rootpath / "book" / "claims.yml")
