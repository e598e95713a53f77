"""Whether an equation is the law, up to the law's constants."""

from dataclasses import replace

import numpy as np
import pytest

from evodiverse.tasks.equations.data import builtin_splits
from evodiverse.tasks.equations.problems import PROBLEMS, Problem, Rows, Splits, Variable
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, read_skeleton
from evodiverse.tasks.equations.symbolic import Law, read_law


def is_met(name: str, expression: str, params: list[float]) -> bool:
    problem = PROBLEMS[name]
    names = [variable.name for variable in problem.variables]
    skeleton = read_skeleton(f"def equation({', '.join(names)}, params):\n    return {expression}\n", names)
    return Law(problem, builtin_splits(problem)).is_met(skeleton.source, params)


@pytest.mark.slow
def test_a_law_is_itself_with_its_own_constants_and_with_others() -> None:
    for name, problem in PROBLEMS.items():
        assert is_met(name, problem.law, list(problem.constants)), name
        rng = np.random.default_rng(0)
        assert is_met(name, problem.law, [value * rng.uniform(0.99, 1.01) for value in problem.constants]), name


def test_a_law_with_a_term_more_is_another_one() -> None:
    for name, problem in PROBLEMS.items():
        first = problem.variables[0].name
        scale = float(np.sqrt(np.mean(builtin_splits(problem).train.target ** 2)))
        assert not is_met(name, f"{problem.law} + {1e-3 * scale} * np.cos(3 * {first})", list(problem.constants)), name


def test_a_law_may_be_written_in_another_form() -> None:
    # population2 is r P (1 - P / K) - c P^2 / (h + P^2) with 0.35, 10, 0.5 and 1.5.
    expression = "params[0] * P - params[1] * P * P - params[2] / (1 + params[3] / P**2)"
    assert is_met("population2", expression, [0.35, 0.035, 0.5, 1.5])
    assert not is_met("population2", "params[0] * P - params[1] * P * P", [0.35, 0.035])


def test_a_law_may_have_more_constants_than_an_equation_may_have_parameters() -> None:
    problem = PROBLEMS["population2"]
    law = " + ".join(f"params[{power}] * P**{power}" for power in range(MAX_PARAMS + 1))
    longer = replace(problem, law=law, constants=(1.0,) * (MAX_PARAMS + 1))
    terms = " + ".join(f"P**{power}" for power in range(MAX_PARAMS + 1))
    skeleton = read_skeleton(f"def equation(P, params):\n    return {terms}\n", ["P"])
    splits = builtin_splits(problem)
    assert Law(longer, splits).is_met(skeleton.source, [])
    assert Law(longer, splits).is_same(skeleton.source, [])


def test_an_equation_of_huge_values_is_no_law() -> None:
    assert not is_met("population2", "params[0] * P", [1e200])


def test_what_gives_no_numbers_is_no_law() -> None:
    assert not is_met("population2", "np.log(-P)", [])


XT = (Variable("x", ""), Variable("t", ""))
INPUTS = np.random.default_rng(0).uniform(0.1, 4, (256, 2))


def matches(found: str, params: list[float], law: str, constants: list[float], inputs: np.ndarray = INPUTS) -> bool:
    source = read_skeleton(f"def equation(x, t, params):\n    return {found}\n", ("x", "t")).source
    splits = Splits(*[Rows(inputs, inputs[:, 0])] * 3)
    problem = Problem("law", "physics", Variable("y", ""), XT, law, tuple(constants))
    return Law(problem, splits).is_same(source, params)


@pytest.mark.parametrize(
    ("found", "params", "law", "constants"),
    [
        ("params[0] * x * (1 - x / params[1])", [0.4, 8.0], "params[0] * x - params[1] * x ** 2", [0.4, 0.05]),
        ("np.exp(params[0] + params[1] * x)", [np.log(2), -1.5], "params[0] * np.exp(params[1] * x)", [2.0, -1.5]),
        ("np.sin(x + params[0])", [np.pi / 2], "np.cos(x)", []),
        ("x * params[0] / (params[1] * x + params[2])", [2.0, 2.0, 3.0], "x / (x + params[0])", [1.5]),
        ("params[0] * np.sqrt(x)", [3.0], "params[0] * x ** 0.5", [3.0]),
        ("params[0] * x", [2.001], "params[0] * x", [2.0]),
        ("params[0] * x + params[1] * t", [2.0, 1e-9], "params[0] * x", [2.0]),
        ("np.log(x * t)", [], "np.log(x) + np.log(t)", []),
    ],
)
def test_another_form_of_the_law_is_the_law(found: str, params: list[float], law: str, constants: list[float]) -> None:
    assert matches(found, params, law, constants)


@pytest.mark.parametrize(
    ("found", "params", "law", "constants"),
    [
        ("params[0] * x", [2.003], "params[0] * x", [2.0]),  # beyond the tolerance
        ("np.sin(params[0] * x)", [1.05], "np.sin(x)", []),
        ("x - x ** 3 / 6", [], "np.sin(x)", []),
        ("params[0] * x + params[1] * t", [2.0, 0.01], "params[0] * x", [2.0]),
        ("params[0] * x ** params[1]", [2.0, 1.01], "params[0] * x", [2.0]),
        ("np.log(x - 2)", [], "np.log(x)", []),  # it gives no number where the law does
        ("params[0]", [1.0], "params[0] * x", [1.0]),
    ],
)
def test_what_differs_from_the_law_is_not_the_law(
    found: str, params: list[float], law: str, constants: list[float]
) -> None:
    assert not matches(found, params, law, constants)


def test_a_good_approximation_is_not_the_law() -> None:
    """A polynomial of degree 9 meets a sine to 1e-9 on the data, and not around them."""
    inside = np.linspace(-1, 1, 200)
    coefficients = np.polyfit(inside, np.sin(inside), 9)[::-1]
    assert np.abs(np.polyval(coefficients[::-1], inside) - np.sin(inside)).max() < 1e-9
    polynomial = " + ".join(f"params[{power}] * x ** {power}" for power in range(10))
    inputs = np.stack([inside, inside], axis=1)
    assert not matches(polynomial, coefficients.tolist(), "np.sin(x)", [], inputs)


def test_every_law_is_itself_and_no_other_of_its_science() -> None:
    for problem in PROBLEMS.values():
        law = Law(problem, builtin_splits(problem))
        others = [
            one for one in PROBLEMS.values() if (one.domain, one.variables) == (problem.domain, problem.variables)
        ]
        same = [one.name for one in others if law.is_same(read_law(one), list(one.constants))]
        assert same == [problem.name]
