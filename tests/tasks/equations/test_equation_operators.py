"""The classical operator of equations: allowed children, made of the request alone."""

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.operator import CROSSOVERS, FAILED, EquationOperator
from evodiverse.tasks.equations.operators.trees import Kind, read_tree, write_tree
from evodiverse.tasks.equations.problems import PROBLEMS, Rows
from evodiverse.tasks.equations.skeleton import MAX_PARAMS, read_skeleton
from evodiverse.vocabulary import Candidate, Prompt, Request, Stream

XV = ("x", "v")
INPUTS = np.random.default_rng(5).uniform(-2, 2, (300, 2))
TARGET = 2 * INPUTS[:, 0] * np.exp(-0.7 * INPUTS[:, 1]) + INPUTS[:, 0] ** 3
OPERATOR = EquationOperator(XV, frozenset(), Rows(INPUTS, TARGET))
LINEAR = read_skeleton("def equation(x, v, params):\n    return params[0] * x + params[1] * v + params[2]\n", XV).source
RICH = read_skeleton(
    "def equation(x, v, params):\n    drag = params[0] * v * np.abs(v)\n"
    "    return np.where(x > params[1], drag, np.sin(params[2] * x)) + params[3] * x ** 3 - np.exp(-v / params[4])\n",
    XV,
).source


def request(*genotypes: str, seed: int = 0, slot: int = 0) -> Request:
    parents = tuple(
        Candidate(call, genotype, genotype, -1.0 / call, 0.0) for call, genotype in enumerate(genotypes, start=1)
    )
    return Request(1, 0, slot, 1, parents, Prompt.COLD, Stream(seed, 5, 1, 0, slot))


@given(st.integers(0, 2**32), st.permutations([LINEAR, RICH]), st.integers(1, 2))
def test_children_are_other_skeletons_of_the_same_variables(seed: int, parents: list[str], n_parents: int) -> None:
    (proposal,) = OPERATOR.propose([request(*parents[:n_parents], seed=seed)])
    assert proposal.genotype is not None
    child = read_skeleton(proposal.genotype, XV)
    assert child.n_params <= MAX_PARAMS
    assert child.source not in parents[:n_parents]
    assert any(read_tree(child.source).leaves("variable"))


def test_every_crossover_and_mutation_is_used() -> None:
    proposals = OPERATOR.propose([request(RICH, LINEAR, slot=slot) for slot in range(600)])
    done = Counter(name for proposal in proposals for name in proposal.operator.split("+"))
    assert set(done) == {f"crossover_{kind}" for kind in CROSSOVERS} | {
        f"mutation_{kind}" for kind in OPERATOR._mutations.edits
    }


FULL = (
    "params[0] * x + params[1] * v + params[2] * np.sin(params[3] * x) + params[4] * np.cos(params[5] * v)"
    " + params[6] * x * v + params[7] * np.tanh(params[8] * x) + params[9]"
)


def fitted(expression: str, params: list[float], slot: int) -> Request:
    source = read_skeleton(f"def equation(x, v, params):\n    return {expression}\n", XV).source
    parent = Candidate(1, source, source, -1.0, 0.0, details={"params": json.dumps(params)})
    return Request(1, 0, slot, 1, (parent,), Prompt.COLD, Stream(3, 5, 1, 0, slot))


@pytest.mark.slow
def test_the_data_suggest_half_of_the_children() -> None:
    full = [3.0, -0.5, 0.4, 2.1, 0.2, 1.4, -1.0, 0.3, 0.9, 0.05]
    requests = [fitted(FULL, full, slot) for slot in range(200)]
    requests += [fitted("params[0] * x + params[1] * v", [3.0, -0.5], slot) for slot in range(200, 400)]
    proposals = OPERATOR.propose(requests)
    done = Counter(name for proposal in proposals for name in proposal.operator.split("+"))
    assert {f"guided_{kind}" for kind in OPERATOR._guided.edits} <= set(done)
    assert 0.3 < sum(proposal.operator.startswith("guided") for proposal in proposals) / 400 < 0.6


@pytest.mark.slow
def test_the_weakest_term_is_replaced_by_one_that_explains_more() -> None:
    two = "params[0] * x ** 3 + params[1] * np.cos(params[2] * v)"
    proposals = OPERATOR.propose([fitted(two, [1.0, 1e-6, 1.3], slot) for slot in range(300)])
    exchanged = [str(one.genotype) for one in proposals if one.operator == "guided_exchange"]
    assert exchanged
    assert all("(x ** (3))" in child and "* np.cos((params[2] * v))" not in child for child in exchanged)
    assert any("np.exp" in child for child in exchanged)


def test_the_better_parent_is_changed_more_often() -> None:
    with_where = [
        "np.where" in str(proposal.genotype)
        for proposal in OPERATOR.propose([request(LINEAR, RICH, slot=slot) for slot in range(300)])
    ]
    reverse = [
        "np.where" in str(proposal.genotype)
        for proposal in OPERATOR.propose([request(RICH, LINEAR, slot=slot) for slot in range(300)])
    ]
    assert sum(with_where) > sum(reverse) + 50  # the second parent is the better one


def test_a_long_line_of_descent_stays_small() -> None:
    source, sizes = LINEAR, []
    for slot in range(300):
        (proposal,) = OPERATOR.propose([request(source, slot=slot)])
        source = read_skeleton(proposal.genotype or source, XV).source
        sizes.append(read_tree(source).size)
    assert max(sizes) <= 60
    assert read_skeleton(source, XV).n_params <= MAX_PARAMS


def test_a_proposal_depends_on_its_request_alone() -> None:
    requests = [request(RICH, LINEAR, slot=slot) for slot in range(20)]
    alone = [OPERATOR.propose([one])[0] for one in reversed(requests)][::-1]
    assert OPERATOR.propose(requests) == alone
    assert pickle.loads(pickle.dumps(OPERATOR)).propose(requests) == alone


@pytest.mark.slow
def test_a_proposal_does_not_depend_on_hash_seeds() -> None:
    script = (
        "from tests.tasks.equations.test_equation_operators import *\n"
        "print([p.genotype for p in OPERATOR.propose([request(RICH, LINEAR, slot=slot) for slot in range(10)])])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "4242", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    here = [
        proposal.genotype for proposal in OPERATOR.propose([request(RICH, LINEAR, slot=slot) for slot in range(10)])
    ]
    assert done.stdout.strip() == repr(here)


def test_a_failed_proposal_gives_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evodiverse.tasks.equations.operators.operator.MAX_PARAMS", -1)
    (proposal,) = OPERATOR.propose([request(LINEAR)])
    assert (proposal.genotype, proposal.operator) == (None, FAILED)
    assert "no allowed child" in proposal.error


def test_parents_too_large_for_a_tree_are_refused() -> None:
    body = "    y = x\n    for i in range(20):\n        y = y * y + params[0]\n    return y\n"
    huge = read_skeleton(f"def equation(x, v, params):\n{body}", XV).source
    chain = " + ".join(["x"] * 50)
    deep = read_skeleton(f"def equation(x, v, params):\n    return {'-(' * 40}{chain}{')' * 40}\n", XV).source
    large = read_skeleton("def equation(x, v, params):\n    return 1e200 ** 2 * x * 1e200 ** 12\n", XV).source
    (refused,) = OPERATOR.propose([request(huge)])
    assert refused.genotype is None
    assert "too large" in refused.error
    for source in (deep, large):
        (proposal,) = OPERATOR.propose([request(source, seed=1)])
        assert proposal.genotype is None or read_skeleton(proposal.genotype, XV)


def test_parameters_nested_too_deeply_are_refused() -> None:
    nested = Candidate(1, LINEAR, LINEAR, -1.0, 0.0, details={"params": "[" * 100_000})
    (refused,) = OPERATOR.propose([Request(1, 0, 0, 1, (nested,), Prompt.COLD, Stream(0, 5, 1, 0, 0))])
    assert refused.genotype is None


@pytest.mark.parametrize("never_negative", [frozenset(), frozenset(XV)])
def test_roots_and_logarithms_get_no_negative_numbers(never_negative: frozenset[str]) -> None:
    inputs = np.random.default_rng(0).uniform(-2, 2, (2, 50))
    data = np.abs(inputs) + 0.1 if never_negative else inputs
    grammar, rng = Grammar(XV, never_negative), np.random.default_rng(1)
    for _ in range(300):
        tree = grammar.draw(Kind.REAL, 4, 0, rng)
        scope: dict[str, Any] = {"np": np}
        exec(write_tree(tree, XV), scope)  # noqa: S102
        with np.errstate(divide="ignore", over="ignore"):
            values = scope["equation"](*data, np.full(20, 1.7))
        assert not np.isnan(values).any()


@pytest.mark.parametrize("name", ["oscillator1", "reaction3"])
def test_the_grammar_holds_no_law(name: str) -> None:
    """No random expression is a built-in law as a whole, nor are the weights made for one."""
    problem = PROBLEMS[name]
    names = tuple(variable.name for variable in problem.variables)
    law = read_skeleton(problem.skeleton, names).source
    operator = EquationOperator(names, frozenset(), problem.sample().train)
    linear = f"params[0] * {names[0]} + params[1]"
    start = read_skeleton(f"def equation({', '.join(names)}, params):\n    return {linear}\n", names).source
    children = operator.propose([request(start, slot=slot) for slot in range(200)])
    assert law not in {child.genotype for child in children}
