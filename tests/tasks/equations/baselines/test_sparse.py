"""Sparse regression: the library of terms, their choice, and its end."""

import numpy as np
import pytest

from evodiverse.tasks.equations.baselines import Order, sparse, write_model
from evodiverse.tasks.equations.parsing import find_terms

INPUTS = np.random.default_rng(0).uniform(0.5, 2, size=(300, 2))
COLUMNS = dict(zip("ab", INPUTS.T, strict=True))
LAW = 3 * INPUTS[:, 0] * INPUTS[:, 1] ** 2 - 0.5 / INPUTS[:, 0] + 4


def order(inputs: np.ndarray = INPUTS, seconds: int | None = None, evaluations: int | None = None) -> Order:
    return Order(inputs, LAW, ("a", "b"), 0, seconds, evaluations)


def test_a_law_of_two_terms_of_the_library_is_found() -> None:
    front = sparse.find_models(order(evaluations=5))
    model = front.models[1]
    hypothesis, params = write_model(model, ("a", "b"))
    assert find_terms(hypothesis.genotype) == {"a*b*b", "/a"}
    assert sorted(params) == pytest.approx([-0.5, 3, 4])
    assert model.tree.evaluate(COLUMNS, model.constants) == pytest.approx(LAW)


def test_cross_validation_selects_the_law() -> None:
    noisy = order().target + np.random.default_rng(1).normal(scale=0.5, size=300)
    front = sparse.find_models(Order(INPUTS, noisy, ("a", "b"), 0, None, 10))
    errors = [np.mean((model.tree.evaluate(COLUMNS, model.constants) - LAW) ** 2) for model in front.models]
    assert front.selected < 9
    assert errors[front.selected] < 2 * min(errors)


def test_one_more_term_never_explains_less_whatever_the_terms_sizes_are() -> None:
    inputs = INPUTS * [20, 1]  # so that exp(a) is large
    columns = dict(zip("ab", inputs.T, strict=True))
    target = np.sin(inputs[:, 0]) + np.exp(inputs[:, 0] - 40) + inputs[:, 1] ** 5
    front = sparse.find_models(Order(inputs, target, ("a", "b"), 0, None, 10))
    errors = [np.mean((model.tree.evaluate(columns, model.constants) - target) ** 2) for model in front.models]
    assert len(errors) == 10
    assert errors == sorted(errors, reverse=True)


def test_an_evaluation_is_a_number_of_terms() -> None:
    front = sparse.find_models(order(evaluations=1))
    assert (len(front.models), front.evaluations, front.is_finished) == (1, 1, False)


def test_it_ends_by_itself() -> None:
    front = sparse.find_models(order(seconds=1_000))
    assert front.is_finished
    assert len(front.models) <= sparse.settings["most_terms"]


def test_terms_that_are_no_numbers_on_the_training_data_are_left_out() -> None:
    trees, values = sparse.build_library(order(INPUTS - [1.0, 0.0]))  # a takes either sign, b does not
    texts = {tree.text for tree in trees}
    assert "sqrt(variable b)" in texts
    assert not {text for text in texts if "sqrt(variable a)" in text or "log(variable a)" in text}
    assert np.isfinite(values).all()


def test_terms_that_are_constant_are_left_out() -> None:
    trees, _ = sparse.build_library(order())
    assert "multiply(variable a,divide(number 1,variable a))" not in {tree.text for tree in trees}


def test_many_variables_leave_the_library_bounded() -> None:
    inputs = np.random.default_rng(0).uniform(0.5, 2, size=(20, 60))
    wide = Order(inputs, inputs[:, 0], tuple(f"x{at}" for at in range(60)), 0, None, 1)
    trees, values = sparse.build_library(wide)
    assert len(trees) == values.shape[1] <= sparse.settings["most_candidates"]
