"""What the data say about a factor before anything is fitted, against least squares."""

import numpy as np
import pytest
from numpy.typing import NDArray

from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.guided import Guide
from evodiverse.tasks.equations.operators.trees import read_tree
from evodiverse.tasks.equations.problems import Rows
from evodiverse.tasks.equations.skeleton import write_function

RNG = np.random.default_rng(0)
INPUTS = RNG.uniform(0.2, 3, (200, 2))
X, V = INPUTS.T
GRAMMAR = Grammar(("x", "v"), frozenset({"x", "v"}))


def guide(target: NDArray[np.float64]) -> Guide:
    return Guide(("x", "v"), Rows(INPUTS, target), GRAMMAR)


def test_the_weakest_term_goes_which_the_others_can_do_without() -> None:
    target = 2 * X + 3 * V**2 + 0.01 * np.sin(X)
    assert guide(target).find_needed([X, np.sin(X), V**2]) == [0, 2]
    assert guide(target).find_needed([np.exp(-V), X, V**2]) == [1, 2]


def test_with_the_weakest_term_goes_what_is_of_no_use() -> None:
    assert guide(2 * X + 3 * V**2).find_needed([1e-19 * np.exp(-V), X, 1e-12 * np.sin(X), V**2, 1e-20 * V]) == [1, 3]
    noisy = 2 * X + 3 * V**2 + 0.3 * np.random.default_rng(0).standard_normal(len(X))
    assert guide(noisy).find_needed([X, V**2, np.sin(X), np.exp(-V)])[:2] == [0, 1]


def test_a_column_that_hardly_varies_is_no_constant() -> None:
    dates = 1.7e12 + 1000 * np.arange(200.0)
    ones, noise = np.ones(200), np.sin(dates)
    knowing = Guide(("t",), Rows(dates[:, None], 0.002 * dates - 3.4e9), GRAMMAR)
    assert knowing.find_needed([noise, ones, dates]) == [1, 2]
    suggestion = knowing._library.suggest_factor([ones], None, np.random.default_rng(0))
    assert suggestion is not None
    assert np.corrcoef(suggestion[1], dates)[0, 1] == pytest.approx(1)


def test_one_term_always_stays() -> None:
    assert guide(np.zeros(len(X))).find_needed([X, V]) in ([0], [1])


@pytest.mark.slow
def test_a_sum_that_is_a_factor_is_edited_in_its_place() -> None:
    tree = read_tree(write_function(("x", "v"), "x * (params[0] * v + params[1])"))
    edited = [
        guide(X * (2 * v_part + 1)).edit(tree, [2.0, 1.0], np.random.default_rng(seed))
        for seed, v_part in enumerate([V] * 60)
    ]
    added = [str(child) for child, name in edited if name == "guided_term" and child is not None]
    assert any(child.startswith("multiply(variable x,add(") for child in added)
    assert any(child.startswith("add(") for child in added)
