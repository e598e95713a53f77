"""Equations written as text: what is read, and what is refused."""

import numpy as np
import pytest

from evodiverse.tasks.equations.baselines.infix import read_infix
from evodiverse.tasks.equations.operators.trees import evaluate

NAMES = {"x0": "a", "x1": "b"}
A, B = np.array([0.5, 2.0, 3.0]), np.array([1.5, -0.5, 0.25])


@pytest.mark.parametrize(
    ("text", "expected", "constants"),
    [
        ("((x0 * 2.5) + cos(x1)) / -0.5", (A * 2.5 + np.cos(B)) / -0.5, (2.5, -0.5)),
        ("x1 ^ 2 - 1.5e-7", B**2 - 1.5e-7, (1.5e-7,)),
        ("-x0 ^ 2.0", -(A**2), ()),
        ("x0 ^ -3", A**-3.0, ()),
        ("x0 ^ 0.5 ^ x1", A ** (0.5**B), (0.5,)),
        ("x0 ^ x1 * 3", A**B * 3, (3.0,)),
        ("safe_log(x0) + sqrt(abs(x1)) - inv(x1)", np.log(A) + np.sqrt(np.abs(B)) - 1 / B, ()),
    ],
)
def test_a_text_means_what_its_author_means(text: str, expected: np.ndarray, constants: tuple[float, ...]) -> None:
    model = read_infix(text, NAMES)
    assert model.constants == constants
    assert evaluate(model.tree, {"a": A, "b": B}, model.constants) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "text",
    ["x2 + 1", "__import__('os').system('true')", "open(x0)", "x0.real", "x0 if x1 else 1", "True", "x0; x1", "x0 +"],
)
def test_whatever_is_no_arithmetic_of_the_variables_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"has no counterpart in a skeleton|expected an equation"):
        read_infix(text, NAMES)
