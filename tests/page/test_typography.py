import pytest

from transformer_anatomy.page.typography import marked, marked_svg

NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("W_Q, √d_k and √dₖ", "W<sub>Q</sub>, √d<sub>k</sub> and √d<sub>k</sub>"),
        ("W_Q W_Kᵀ", "W<sub>Q</sub> W<sub>K</sub><sup>T</sup>"),
        ("(d_model × d_head)²", "(d<sub>model</sub> × d<sub>head</sub>)<sup>2</sup>"),
        ("QKᵀ, a_i, xₙ₊₁", "QK<sup>T</sup>, a<sub>i</sub>, x<sub>n+1</sub>"),
        ("e^0.4 = 1.49, e^(5/8), e^d.", "e<sup>0.4</sup> = 1.49, e<sup>5/8</sup>, e<sup>d</sup>."),
        ("e^-0.5 is not e⁻⁰·⁵", "e<sup>−0.5</sup> is not e<sup>−0</sup>·<sup>5</sup>"),
        ("‖W‖_F", "‖W‖<sub>F</sub>"),
        ("1.2·10⁻⁷", "1.2·10<sup>−7</sup>"),
        ("at i + 1 and 3 ± 0.1, 17 %", f"at i{NBSP}+{NBSP}1 and 3{NBSP}±{NBSP}0.1, 17{NBSP}%"),
        ("-0.5 and layer-10", "−0.5 and layer-10"),
        ("a < b_c & “d”", "a &lt; b<sub>c</sub> &amp; “d”"),
        ("x^(<b>)", "x<sup>&lt;b&gt;</sup>"),
    ],
)
def test_a_little_mathematics_is_set_as_such(text, html):
    assert marked(text) == html


@pytest.mark.parametrize("text", ["jacobian_norm, top_k_accuracy", "__init__", "2 ** 3", "x ^ 2", "of-the-art", ""])
def test_everything_else_stays_as_it_is(text):
    assert marked(text) == marked_svg(text) == text


def test_in_a_picture_the_line_comes_back_after_each_shift():
    assert marked_svg("W_Q < e²") == (
        'W<tspan dy="3" font-size="9">Q</tspan><tspan dy="-3"> &lt; e</tspan><tspan dy="-4" font-size="9">2</tspan>'
    )
