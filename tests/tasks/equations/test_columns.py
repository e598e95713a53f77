import pytest

from evodiverse.tasks.equations.columns import is_usable, make_usable


def test_names_that_can_be_variables_stay_as_they_are() -> None:
    assert make_usable(["x", "dA_dt", "α"]) == ["x", "dA_dt", "α"]


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("lambda", "lambda_"),
        ("params", "params_"),
        ("np", "np_"),
        ("equation", "equation_"),
        ("__debug__", "debug"),
        ("x (m)", "x__m"),
        ("dA/dt", "dA_dt"),
        ("\\theta", "theta"),
        ("\u00b5", "\u03bc"),
        ("2x", "x2x"),
        ("a\n", "a"),
        ("***", "x"),
        ("", "x"),
    ],
)
def test_an_odd_name_becomes_the_nearest_that_can_be_a_variable(name: str, usable: str) -> None:
    assert make_usable([name]) == [usable]
    assert is_usable(usable)


def test_no_two_variables_have_one_name() -> None:
    assert make_usable(["a b", "a_b", "a-b", "x", "x", "*"]) == ["a_b_", "a_b", "a_b__", "x", "x_", "x__"]
