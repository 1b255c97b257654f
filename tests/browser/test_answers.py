"""In the built book a reader answers without a kernel, and is told the same as in JupyterLab."""

import html
import re
from pathlib import Path

import pytest

from transformer_anatomy.page.assets import STATIC
from transformer_anatomy.page.exercises import Attempt
from transformer_anatomy.page.exercises.catalogue import read_catalogue, samples
from transformer_anatomy.page.exercises.diagnosis import diagnose
from transformer_anatomy.page.predict import Prediction
from transformer_anatomy.page.typography import marked

CATALOGUE = read_catalogue(Path(__file__).parents[2] / "book" / "exercises.yml")
HERE = [name for name, asked in CATALOGUE.items() if asked.kind in ("number", "choice")]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page on disk as the book has it: every exercise of the course and one prediction."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
        cells = [f'<div class="cell">{Attempt(asked, None)._repr_html_()}</div>' for asked in CATALOGUE.values()]
        cells.append(Prediction("Which layer?", ["Layer 1", "Layer 6", "W_Q"], "**Layer 1.**")._repr_html_())
    links = "".join(
        f'<link rel="stylesheet" href="{(STATIC / name).as_uri()}">' for name in ("tokens.css", "cards.css")
    )
    script = f'<script src="{(STATIC / "answers.js").as_uri()}" defer></script>'
    file = tmp_path_factory.mktemp("answers") / "page.html"
    file.write_text(f"<!doctype html><meta charset=utf-8>{links}{script}{''.join(cells)}", encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def page(visit, address):
    opened = visit(address)
    yield opened.page
    assert opened.errors == [] and opened.outside == []


def check_of(page, name):
    return page.locator(f'.check[data-exercise*=\'"id": "{name}"\']')


def tell(page, name, answer):
    """What the page says to an answer, typed or chosen."""
    check = check_of(page, name)
    if CATALOGUE[name].kind == "number":
        check.locator("input").fill(answer)
        check.locator("input").press("Enter")
    else:
        check.get_by_label(shown(answer), exact=True).check()
        check.get_by_role("button").click()
    return check.locator(".attempts li").last.inner_text().replace("\n", " ").strip()


def shown(text):
    """What a reader sees of a text: W_Q has its Q as an index."""
    return html.unescape(re.sub(r"<[^>]+>", "", marked(text)))


def said(diagnosis):
    return f"{'Right' if diagnosis.right else 'Not yet'}. {shown(diagnosis.words)}"


@pytest.mark.parametrize("name", HERE)
def test_the_page_diagnoses_every_answer_as_python_does(page, name):
    asked = CATALOGUE[name]
    answers = [answer for outcome in (asked.right, *asked.wrong) for answer in samples(outcome)]
    answers += [0, 1e9, -1e9, 0.123456] if asked.kind == "number" else list(asked.choices)
    for answer in answers:
        assert tell(page, name, str(answer)) == said(diagnose(asked, answer)), answer


TYPED = {
    "0,436": 0.436, " 0.436 ": 0.436, "436e-3": 0.436, ".436": 0.436, "109/250": 0.436, "1 / 2": 0.5, "−0.693": -0.693,
    "sqrt(0.19)": 0.436, "√0.19": 0.436, "0.66**2": 0.436, "0.66^2": 0.436, "-ln 0.6466": 0.436, "2*(1-0.782)": 0.436,
    "2 · 0.218": 0.436, "e**-0.83": 0.436, "math.exp(-0.83)": 0.436, "1/log(9.9)": 0.436, "+.436": 0.436,
    "--2.29": 2.29, "-0.66**2": -0.436, "2**-1**2": 0.5, "1/2/3": 1 / 6, "8-2-3.71": 2.29, "1/0": float("inf"),
}  # fmt: skip


@pytest.mark.parametrize(("typed", "means"), TYPED.items())
def test_numbers_may_be_typed_as_people_write_them(page, typed, means):
    assert tell(page, "softmax-temperature", typed) == said(diagnose(CATALOGUE["softmax-temperature"], means))


@pytest.mark.parametrize("typed", ["1048576", "1 048 576", "1\u202f048\u202f576", "1_048_576", "1,048,576", "2**20"])
def test_digits_may_be_grouped(page, typed):
    assert tell(page, "attention-cost", typed) == said(diagnose(CATALOGUE["attention-cost"], 1048576))


def test_one_comma_groups_where_the_answer_is_in_the_thousands_and_is_a_decimal_comma_elsewhere(page):
    assert tell(page, "attention-cost", "786,432") == said(diagnose(CATALOGUE["attention-cost"], 786432))
    assert tell(page, "softmax-temperature", "2,290") == said(diagnose(CATALOGUE["softmax-temperature"], 2.29))


NO_NUMBER = """abc 0x10 0/0 1/ 2e (1 1) 2(3) ln ln() log2(8) NaN Infinity constructor <b>1 0,4,3 1,04,576 0.4.3 **2 √"""


@pytest.mark.parametrize("typed", [*NO_NUMBER.split(), "2 3", "1 04"])
def test_what_is_no_number_is_answered_with_how_to_write_one(page, typed):
    words = f"Not yet. “{typed}” is not a number. Write it like 0.436, 2/3 or sqrt(2)."
    assert tell(page, "softmax-temperature", typed) == words


def test_the_last_two_attempts_are_kept_each_once_and_announced(page):
    attempts = check_of(page, "softmax-temperature").locator(".attempts")
    assert attempts.get_attribute("aria-live") == "polite"
    for answer in ("2.29", "0.455", "2.29", "2.29", "0.436"):
        tell(page, "softmax-temperature", answer)
    wrong, right = attempts.locator("li").all()
    assert "2.29 is the inverse" in wrong.inner_text() and "Right." in right.inner_text()
    assert wrong.locator("svg").inner_html() != right.locator("svg").inner_html()


def test_the_icons_of_script_and_python_are_the_same(page):
    for answer in ("0.436", "2.29"):
        tell(page, "softmax-temperature", answer)
        check = check_of(page, "softmax-temperature")
        from_script = check.locator("li svg").last.evaluate("icon => icon.outerHTML")
        from_python = Attempt(
            CATALOGUE["softmax-temperature"], diagnose(CATALOGUE["softmax-temperature"], float(answer))
        )
        parsed = page.evaluate(
            "html => new DOMParser().parseFromString(html, 'text/html').querySelector('li svg').outerHTML",
            from_python._repr_html_(),
        )
        assert from_script == parsed


@pytest.mark.parametrize(("name", "words"), [("softmax-temperature", "Write"), ("softmax-window", "Choose")])
def test_without_an_answer_the_page_asks_for_one_until_it_comes(page, name, words):
    check, address = check_of(page, name), page.url
    for _ in range(2):
        check.get_by_role("button").click()
    asked = f"{words} an answer first."
    assert [asked in said for said in check.locator("li").all_inner_texts()] == [True]
    tell(page, name, "0.436" if words == "Write" else CATALOGUE[name].choices[0])
    assert [asked in said for said in check.locator("li").all_inner_texts()] == [False]
    assert page.url == address


def test_the_form_takes_the_place_of_the_cell_only_where_the_script_runs(page):
    forms = page.locator(".check form")
    assert forms.count() == len(HERE)
    assert all(forms.nth(place).is_visible() for place in range(forms.count()))
    assert page.locator(".cell.answered-here").count() == len(HERE)


def test_a_prediction_is_repeated_beside_the_measurement(page):
    page.get_by_label("Layer 6").check()
    page.get_by_text("What was measured").click()
    assert page.locator(".predict details").inner_text().endswith("You said “Layer 6”. Layer 1.")
    page.get_by_label("Layer 6").press("ArrowUp")
    assert page.locator(".guess").inner_text() == "You said “Layer 1”. "
    page.get_by_label(shown("W_Q"), exact=True).check()
    assert page.locator(".guess sub").inner_text() == "Q"
