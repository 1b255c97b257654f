import re

import pytest

from transformer_anatomy.page.predict import predict

QUESTION = "In which layer does a typical head spread its attention most evenly?"


def shown_html(shown, *arguments, **options):
    with shown() as output:
        predict(*arguments, **options)
    return output.outputs[0].data["text/html"]


def test_the_reader_chooses_one_answer_before_the_measurement_is_unfolded(shown):
    page = shown_html(shown, QUESTION, ["Layer 1", "Layer 6"], reveal=f"Measured: **layer {1}.**")
    radios = re.findall(r'<input type="radio" name="([^"]*)" value="([^"]*)" data-lm-suppress-shortcuts="true">', page)
    assert [value for _, value in radios] == ["Layer 1", "Layer 6"]
    assert len({name for name, _ in radios}) == 1
    details = re.search(r"<details>.*</details>", page)[0]  # closed
    assert "Measured: <b>layer 1.</b>" in details
    assert "Measured" not in page.replace(details, "").split("</style>")[-1]


def test_two_predictions_on_one_page_do_not_share_their_radios(shown):
    pages = [shown_html(shown, question, ["a", "b"], reveal="c") for question in ("One?", "Two?")]
    names = [set(re.findall(r'name="(predict-\w+)"', page)) for page in pages]
    assert len(names[0] | names[1]) == 2


def test_texts_are_escaped(shown):
    page = shown_html(shown, "a < b?", ["<i>", '"'], reveal="x & y").split("</style>")[-1]
    for words in ("a &lt; b?", 'value="&lt;i&gt;"', 'value="&quot;"', "x &amp; y"):
        assert words in page


def test_a_little_mathematics_is_set_as_such(shown):
    page = shown_html(shown, "What does W_Q do?", ["e^2", "d_k"], reveal="**W_Q** is 10⁻⁷").split("</style>")[-1]
    for words in ("W<sub>Q</sub> do", "<span>e<sup>2</sup></span>", 'value="d_k"', "<b>W<sub>Q</sub></b> is 10<sup>−7"):
        assert words in page


def test_in_the_book_the_page_brings_the_style(shown, monkeypatch):
    assert "<style>" in shown_html(shown, QUESTION, ["a", "b"], reveal="c")
    monkeypatch.setenv("TRANSFORMER_ANATOMY_BOOK", "1")
    assert "<style>" not in shown_html(shown, QUESTION, ["a", "b"], reveal="c")


@pytest.mark.parametrize(
    ("question", "choices", "reveal", "words"),
    [
        ("", ["a", "b"], "c", "question must be text"),
        (QUESTION, ["a", "b"], " ", "reveal must be text"),
        (QUESTION, ["a"], "c", "two or more different"),
        (QUESTION, ["a", "a"], "c", "two or more different"),
        (QUESTION, "ab", "c", "two or more different"),
    ],
)
def test_a_prediction_needs_a_question_two_choices_and_a_measurement(question, choices, reveal, words, unchecked):
    with pytest.raises(ValueError, match=words):
        predict(question, choices, reveal=reveal)
