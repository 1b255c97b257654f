import pytest

from transformer_anatomy import sweep


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "settings must name at least one setting, got none"),
        ({"a": [1], "b": []}, "at least one value for each name, got none for b"),
        ({"norm": "pre"}, "a list of values for each name, got norm = 'pre'"),
        ({"n_layers": 2}, "a list of values for each name, got n_layers = 2"),
        ({"seed": [0, 1, 0]}, r"different values for each name, got seed = \[0, 1, 0\]"),
    ],
)
def test_settings_that_make_no_table_are_refused_by_name(unchecked, settings, message):
    with pytest.raises(ValueError, match=message):
        sweep(lambda **_: {"x": 1}, settings)


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        ({"a": 1, "x": 2}, ValueError, "must not name its results like settings, got a"),
        (0.5, TypeError, "run must return numbers by name, as .*, got float"),
        (None, TypeError, "run must return numbers by name, as .*, got NoneType"),
        ({"x": [1, 2]}, TypeError, "a number or a word for each name, got x of type list"),
    ],
)
def test_results_that_make_no_table_are_refused_with_the_settings_of_their_run(unchecked, result, error, message):
    with pytest.raises(error, match=message) as caught:
        sweep(lambda a: result, {"a": [1]})
    assert caught.value.__notes__ == ["in the run with a = 1"]
