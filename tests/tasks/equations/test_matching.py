"""Whether an equation is the law, whatever form it is written in."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evodiverse.tasks.equations.fitter import define_all
from evodiverse.tasks.equations.in_sandbox.matching import drive
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.skeleton import read_skeleton

XT = ("x", "t")
INPUTS = np.random.default_rng(0).uniform(0.1, 4, (256, 2))


def matches(found: str, params: list[float], law: str, constants: list[float], inputs: Any = INPUTS) -> bool:
    sources = [read_skeleton(f"def equation(x, t, params):\n    return {one}\n", XT).source for one in (found, law)]
    scope: dict[str, Any] = {}
    exec(define_all(sources), scope)  # noqa: S102
    functions: Callable[[], Any] = scope["equations"]
    return drive(functions, params, constants, inputs)


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
    inside = np.linspace(0, 1, 200)
    coefficients = np.polyfit(inside, np.sin(inside), 9)[::-1]
    assert np.abs(np.polyval(coefficients[::-1], inside) - np.sin(inside)).max() < 1e-9
    polynomial = " + ".join(f"params[{power}] * x ** {power}" for power in range(10))
    wide = np.random.default_rng(1).uniform(-1, 2, (256, 2))
    assert not matches(polynomial, coefficients.tolist(), "np.sin(x)", [], wide)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_law_is_itself_and_no_other_of_its_science(name: str) -> None:
    problem = PROBLEMS[name]
    inputs = problem.sample(problem).train.inputs[:256]
    names = [variable.name for variable in problem.variables]
    others = [
        other
        for other in PROBLEMS.values()
        if other.domain == problem.domain and [one.name for one in other.variables] == names
    ]
    for other in others:
        scope: dict[str, Any] = {}
        sources = [read_skeleton(one.skeleton, names).source for one in (other, problem)]
        exec(define_all(sources), scope)  # noqa: S102
        same = drive(scope["equations"], list(other.constants), list(problem.constants), inputs)
        assert same is (other is problem)
