"""A split without an error says why."""

import numpy as np
import pytest

from evodiverse.tasks.equations.problems import FloatArray, Rows
from evodiverse.tasks.equations.skeleton import read_skeleton, write_function
from evodiverse.tasks.equations.undefined import explain_no_error

X = np.array([2.0, -1.5, 0.0, -3.0])


def explain(expression: str, target: FloatArray = X, predicted: FloatArray | None = None) -> str | None:
    source = read_skeleton(write_function(["x"], expression), ["x"]).source
    return explain_no_error(Rows(X[: len(target), None], target), predicted, ["x"], source, [0.5])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            "2 * (x ** params[0] + 1)",
            "power(-1.5, 0.5) of a negative base in row 2 is not a finite number (2 of 4 rows)",
        ),
        ("1 + 3 / x", "divide(3, 0) in row 3 is not a finite number (1 of 4 rows)"),
        ("np.log(x - 2)", "log(0) in row 1 is not a finite number (4 of 4 rows)"),
        ("np.exp(1000 * x)", "exp(2000) in row 1 is not a finite number (1 of 4 rows)"),
        ("np.where(x > 1, 1, np.sqrt(x))", "sqrt(-1.5) in row 2 is not a finite number (2 of 4 rows)"),
        ("params[0] * x", "the equation could not be computed"),  # as when the fit ran out of time
    ],
)
def test_the_operation_without_a_value_is_named(expression: str, expected: str) -> None:
    assert explain(expression) == expected


def test_a_target_without_a_variance_and_predictions_that_are_too_large() -> None:
    assert explain("x", np.full(3, 0.1), np.arange(3.0)) == "the target is the same in all rows"
    assert explain("x", X, np.full(4, 1e200)) == "a prediction is too large to be squared"


def test_a_known_error_and_a_split_without_rows_need_no_words() -> None:
    assert explain("x", X, X) is None
    assert explain("x", np.empty(0), None) is None
