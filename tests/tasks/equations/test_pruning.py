"""Parts of an equation that change nothing are removed, and constants near a simple number become this number."""

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.data import hold_back
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.operators.simplification import factor_out, simplify
from evodiverse.tasks.equations.operators.trees import (
    call,
    number,
    parameter,
    read_tree,
    variable,
    write_infix,
)
from evodiverse.tasks.equations.problems import Dataset, Rows, Splits, Variable
from evodiverse.tasks.equations.pruning import Formula, remove_parts, snap_constants
from evodiverse.tasks.equations.settings import DataSettings, EquationSettings
from evodiverse.tasks.equations.skeleton import read_skeleton
from evodiverse.tasks.equations.task import EquationTask
from evodiverse.vocabulary import Candidate, Hypothesis

COLUMNS = {"x": np.linspace(0.5, 3, 40), "v": np.linspace(3, 0.4, 40) ** 2}


RNG = np.random.default_rng(0)
X, V = RNG.uniform(0.5, 3, (2, 60))
NOISE = RNG.normal(size=60)


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


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    sandbox = ProcessSandbox([fitting.__name__])
    yield sandbox
    sandbox.close()


def shown(
    sandbox: ProcessSandbox, expression: str, target: NDArray[np.float64], held_back: float = 0.0
) -> tuple[str, dict[str, bytes]]:
    """The form in which an equation is shown once it is fitted to a target, of the variables `X` and `V`, and files."""
    none = Rows(np.empty((0, 2)), np.empty(0))
    splits = Splits(Rows(np.stack([X, V], 1), target), none, none)
    dataset = Dataset(Variable("y", ""), (Variable("x", ""), Variable("v", "")), splits)
    task = EquationTask(dataset, sandbox, EquationSettings(problem="csv/x", data=DataSettings(hold_back=held_back)))
    (parsed,) = task.parse([f"def equation(x, v, params):\n    return {expression}\n"])
    assert isinstance(parsed, Hypothesis)
    (made,) = task.evaluate([parsed])
    candidate = Candidate(1, parsed.genotype, parsed.key, made.score, made.energy, details=made.details)
    found = [Discovery(candidate, 0, None)]
    return task.headline(found).partition("  (")[0], task.show_best(found)


@pytest.mark.slow
def test_a_term_that_only_noise_pays_for_goes_and_the_law_stays(sandbox: ProcessSandbox) -> None:
    expression = "params[0] * x * v + params[1] * np.sin(params[2] * v)"
    assert shown(sandbox, expression, 3 * X * V + 0.3 * NOISE)[0] == "y = 2.995 * v * x"
    assert "sin" in shown(sandbox, expression, 3 * X * V + 0.5 * np.sin(2 * V) + 0.1 * NOISE)[0]


@pytest.mark.parametrize(("growth", "expected"), [(1e-5, "y = x**2"), (0.04, "y = x**2.0")])
def test_a_simple_number_that_saves_no_part_may_raise_the_error_by_one_percent(
    sandbox: ProcessSandbox, growth: float, expected: str
) -> None:
    """The noise is such that the square has this share more of squared error than the best power."""
    slope = X**2 * np.log(X) / np.linalg.norm(X**2 * np.log(X))
    noise = 0.3 * (NOISE - slope * (slope @ NOISE))
    found, _ = shown(sandbox, "x ** params[0]", X**2 + noise + growth**0.5 * np.linalg.norm(noise) * slope)
    assert (found == expected) if expected == "y = x**2" else found.startswith(expected)


def test_common_factors_of_terms_are_shown_once(sandbox: ProcessSandbox) -> None:
    found, _ = shown(sandbox, "params[0] * x * v + params[1] * x * x", 2 * X * V + 0.7 * X**2 + 0.1 * NOISE)
    assert found == "y = (2.0054 * v + 0.6931 * x) * x"


def test_an_addend_takes_a_simpler_factor_of_another_one(sandbox: ProcessSandbox) -> None:
    expression = "params[0] * np.exp(params[1] * v) + params[2] * x / v"
    assert shown(sandbox, expression, (2 + 3 * X) / V + 0.1 * NOISE)[0] == "y = (2.97 * x + 2.046) / v"


def test_the_constants_shown_are_fitted_to_all_rows_and_the_errors_are_those_before(sandbox: ProcessSandbox) -> None:
    """The one measurement among the rows held back that is a typing error does not count."""
    target = 3 * X + 0.5 * V + NOISE
    fitted, held = hold_back(Rows(np.stack([X, V], 1), target), 0.2)
    target[np.flatnonzero(target == held.target[0])] = 1e6
    _, files = shown(sandbox, "params[0] * x + params[1] * v", target, 0.2)
    about = json.loads(files["equation.json"])
    tame = target < 1e6
    best = np.linalg.lstsq(np.stack([X, V], 1)[tame], target[tame])[0]
    before = np.linalg.lstsq(fitted.inputs, fitted.target)[0]
    assert sorted(about["params"]) == pytest.approx(sorted(best), rel=1e-3)
    assert sorted(about["params"]) != pytest.approx(sorted(before), rel=1e-2)
    residues = (held.inputs @ before - held.target)[1:]
    assert about["nmse_held"] == pytest.approx(np.mean(residues**2) / np.var(target[tame]), rel=1e-3)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x**3 * v - x**2", "x**2 * (x * v - 1)"),
        ("params[0] / x + v / x**2", "(params[0] + v / x) / x"),
        ("np.exp(x * v + x)", "exp(x * (v + 1))"),
        ("x * v + 3", "x * v + 3"),
        ("params[0] * x + params[0] * v", "params[0] * x + params[0] * v"),  # no variable in common
    ],
)
def test_factors_are_taken_out_of_sums(expression: str, expected: str) -> None:
    formula = read(expression, [0.3])
    found = factor_out(formula.tree)
    assert found == read(expected.replace("exp", "np.exp"), []).tree
    np.testing.assert_allclose(found.evaluate(COLUMNS, [0.3]), formula.tree.evaluate(COLUMNS, [0.3]), rtol=1e-12)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("params[0] * x ** params[1] * x**2", "params[0] * x ** params[1]"),
        ("v * x ** params[0] / x**3", "x ** params[0] * v"),
        ("v**2 * x ** params[0]", "v**2 * x ** params[0]"),
        ("x**2 * x ** params[0] + params[0]", "params[0] + x**2 * x ** params[0]"),  # it is not free
    ],
)
def test_a_free_exponent_absorbs_whole_powers_of_the_same_base(expression: str, expected: str) -> None:
    assert simplify(read(expression, []).tree) == read(expected, []).tree


def test_a_power_is_no_free_exponent_if_a_parameter_has_its_number() -> None:
    """Equations of other programs may have more than ten parameters."""
    tree = call("add", call("multiply", call("power", variable("x"), number(13)), variable("x")), parameter(13))
    np.testing.assert_allclose(simplify(tree).evaluate(COLUMNS, [0.0] * 14), COLUMNS["x"] ** 14)
