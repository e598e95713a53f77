"""Whether an equation is the law, up to the law's constants."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.equations.data import Dataset, builtin_splits
from evodiverse.tasks.equations.in_sandbox import matching
from evodiverse.tasks.equations.problems import PROBLEMS
from evodiverse.tasks.equations.report import is_law
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, read_skeleton
from evodiverse.tasks.equations.symbolic import Law


def is_met(name: str, expression: str, params: list[float]) -> bool:
    problem = PROBLEMS[name]
    names = [variable.name for variable in problem.variables]
    skeleton = read_skeleton(f"def equation({', '.join(names)}, params):\n    return {expression}\n", names)
    return Law(problem, builtin_splits(problem)).is_met(skeleton.source, params)


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_law_is_itself_with_its_own_constants_and_with_others(name: str) -> None:
    problem = PROBLEMS[name]
    assert is_met(name, problem.law, list(problem.constants))
    rng = np.random.default_rng(0)
    assert is_met(name, problem.law, [value * rng.uniform(0.99, 1.01) for value in problem.constants])


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_law_with_a_term_more_is_another_one(name: str) -> None:
    problem = PROBLEMS[name]
    first = problem.variables[0].name
    scale = float(np.sqrt(np.mean(builtin_splits(problem).train.target ** 2)))
    assert not is_met(name, f"{problem.law} + {1e-3 * scale} * np.cos(3 * {first})", list(problem.constants))


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
    with closing(ProcessSandbox([matching.__name__])) as sandbox:
        dataset = Dataset(longer.target, longer.variables, splits, longer)
        assert is_law(skeleton.source, [], longer, dataset, sandbox)


def test_an_equation_of_huge_values_is_no_law() -> None:
    assert not is_met("population2", "params[0] * P", [1e200])


def test_what_gives_no_numbers_is_no_law() -> None:
    assert not is_met("population2", "np.log(-P)", [])
