"""Parts of an equation that change nothing are removed, and constants near a simple number become this number."""

import math

import numpy as np
import pytest

from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import read_tree, write_infix
from evodiverse.tasks.equations.pruning import Formula, remove_parts, snap_constants
from evodiverse.tasks.equations.skeleton import read_skeleton

COLUMNS = {"x": np.linspace(0.5, 3, 40), "v": np.linspace(3, 0.4, 40) ** 2}


def read(expression: str, params: list[float]) -> Formula:
    source = read_skeleton(f"def equation(x, v, params):\n    return {expression}\n", ("x", "v")).source
    return Formula(read_tree(source), params)


@pytest.mark.parametrize(
    ("expression", "params", "expected"),
    [
        ("x + params[0] * v ** 2", [2.7e-16], "x"),
        ("x + params[0] * np.exp(params[1] * v)", [4e-70, 10.0], "x"),
        ("np.tanh(x + params[0]) * v", [50.0], "v"),
        ("v / np.tanh(x + params[0])", [50.0], "v"),
        ("v * x / (x + params[0])", [1e-14], "v"),
        ("v * x ** params[0]", [1e-14], "v"),
        ("x ** params[0]", [1 + 1e-14], "x"),
        ("np.absolute(x) * v", [], "x * v"),
        ("np.exp(np.absolute(x + params[0]))", [-3.14], "exp(-(x - 3.14))"),
        ("np.maximum(x, params[0] * v)", [-1.0], "x"),
        ("np.where(x > params[0], v, x)", [-7.0], "v"),
        ("params[0] * np.tanh(params[1] * x)", [3e6, 1e-6], "3000000 * (1e-06 * x)"),
        ("x + np.exp(params[0] * v)", [1e-20], "x + 1"),
        ("x ** (-2) + v", [], "x**(-2) + v"),
        ("x + params[0] * v", [1e-4], "x + 0.0001 * v"),
        ("np.sin(params[0] * x) * v", [0.1], "sin(0.1 * x) * v"),
    ],
)
def test_a_part_is_removed_if_the_predictions_stay_the_same(
    expression: str, params: list[float], expected: str
) -> None:
    assert write_infix(*remove_parts(read(expression, params), COLUMNS, 1e-10)) == expected


def test_all_removals_together_keep_the_predictions_within_the_tolerance() -> None:
    formula = read(" + ".join(["v", *(f"params[{at}] * np.sin({at} * x)" for at in range(1, 8))]), [1e-3] * 8)
    shorter = remove_parts(formula, COLUMNS, 7e-4)
    change = shorter.tree.evaluate(COLUMNS, shorter.params) - formula.tree.evaluate(COLUMNS, formula.params)
    assert 0 < np.sqrt(np.mean(change**2)) < 7e-4
    assert 1 < write_infix(*shorter).count("sin") < 6


@pytest.mark.parametrize(
    ("expression", "value", "expected"),
    [
        ("x ** params[0]", 2 + 1e-13, "x**2"),
        ("v / x ** params[0]", -1 - 1e-13, "v * x"),
        ("x ** params[0]", 1 / 3 + 1e-13, "x**(1 / 3)"),
        ("x ** params[0]", 2.01, "x**2.01"),
        ("x + params[0]", -0.5 + 1e-14, "x - 0.5"),
        ("params[0] * (x + v)", 3 + 1e-14, "3.00000000000001 * (v + x)"),  # 3 * x + 3 * v would be longer
    ],
)
def test_a_constant_that_rounding_alone_keeps_from_a_simple_number_becomes_it(
    expression: str, value: float, expected: str
) -> None:
    tree, params = snap_constants(read(expression, [value]), COLUMNS, 1e-10)
    assert write_infix(simplify(tree), params) == expected


def test_equal_constants_become_one_if_this_makes_the_expression_shorter() -> None:
    cancels = read("(x + params[0]) * v / (x + params[1])", [1.979, 1.979 + 1e-14])
    assert write_infix(simplify(snap_constants(cancels, COLUMNS, 1e-10).tree), []) == "v"
    stays = read("params[0] * x + params[1] * v", [0.3, 0.3])
    assert snap_constants(stays, COLUMNS, 1e-10) == stays


def test_an_expression_that_is_not_a_number_somewhere_stays_as_it_is() -> None:
    formula = read("x + params[0] * np.log(v - 1)", [1e-20])
    assert remove_parts(formula, COLUMNS, math.inf) == formula
