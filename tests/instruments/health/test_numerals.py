import math

import pytest

from transformer_anatomy.instruments.health.numerals import cell_text, cosine_text, percent_text, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (-1.5, "−1.5"),
        (0.5694, "0.569"),
        (0.00312, "0.00312"),
        (17.34, "17.3"),
        (153.4, "153"),
        (36841.0, "36,800"),
        (1e6, "10⁶"),
        (2.41e-8, "2.41·10⁻⁸"),
        (-1e-12, "−10⁻¹²"),
        (math.nan, "NaN"),
        (-math.inf, "−∞"),
    ],
)
def test_a_number_has_three_digits(value, text):
    assert value_text(value) == text


def test_in_a_column_zeros_stay():
    assert [cell_text(value) for value in (1.0, 2.5, 19.0, 153.0, 0.0, None, 1e-9)] == [
        *("1.00", "2.50", "19.0", "153", "0", "–", "10⁻⁹")
    ]


def test_a_cosine_that_is_nearly_1_says_how_nearly():
    assert [cosine_text(value) for value in (0.5, 0.999, 1 - 9.4e-10, 1.0)] == ["0.500", "0.999", "1 − 9·10⁻¹⁰", "1.00"]


def test_all_but_a_few_are_not_100_percent():
    assert [percent_text(share) for share in (0.1349, 0.99999, 1.0, 9.84)] == ["13.5 %", "99.9 %", "100 %", "984 %"]
