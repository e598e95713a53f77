"""Sparse regression: a few terms from a library, chosen one after the other.

The choice is by orthogonal matching pursuit (Pati, Rezaiifar and Krishnaprasad 1993).
"""

import time
import warnings
from collections.abc import Iterator
from functools import partial, reduce
from itertools import combinations_with_replacement, islice
from typing import Final

import numpy as np

from evodiverse.tasks.equations.baselines import ENGINES, Front, Model, Order, add_constant
from evodiverse.tasks.equations.operators.trees import Node, call, number, variable
from evodiverse.tasks.equations.problems import FloatArray

settings: Final = ENGINES["sparse"].settings


def find_models(order: Order) -> Front:
    """Return models with 1, 2, … terms, one of which is selected by cross-validation on the training data.

    Each number of terms counts as one evaluation.
    """
    from sklearn.linear_model import OrthogonalMatchingPursuit  # imported here because it is optional
    from sklearn.model_selection import KFold, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    began = time.perf_counter()
    trees, library = build_library(order)
    folds = KFold(settings["folds"], shuffle=True, random_state=order.seed % 2**32)
    models, errors, is_finished = list[Model](), list[float](), True
    for n_terms in range(1, min(settings["most_terms"], len(trees)) + 1):
        is_late = order.seconds is not None and time.perf_counter() - began >= order.seconds
        if models and (is_late or len(models) == order.evaluations):
            is_finished = False
            break
        pursuit = make_pipeline(StandardScaler(), OrthogonalMatchingPursuit(n_nonzero_coefs=n_terms))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the pursuit warns if it ends early, with fewer terms
            chosen = np.flatnonzero(pursuit.fit(library, order.target)[-1].coef_)
            scores = cross_val_score(pursuit, library, order.target, cv=folds, scoring="neg_mean_squared_error")
        if len(chosen) < n_terms:
            break
        errors.append(-float(np.mean(scores)))
        models.append(_solve([trees[at] for at in chosen], library[:, chosen], order.target))
    return Front(models, int(np.argmin(errors)), len(models), is_finished)


def build_library(order: Order) -> tuple[list[Node], FloatArray]:
    """Return the terms of the library and their ``(n, terms)`` values on the training data.

    Terms that are constant on these data, or not finite in some row, are left out.
    """
    columns = dict(zip(order.variables, order.inputs.T, strict=True))
    trees, values = list[Node](), list[FloatArray]()
    for tree in islice(_candidates(order.variables), settings["most_candidates"]):
        column = tree.evaluate(columns, ())
        with np.errstate(all="ignore"):
            spread = np.std(column)
        if np.isfinite(spread) and spread > 1e-12 * np.abs(column).max():  # a smaller one is rounding error
            trees.append(tree)
            values.append(column)
    return trees, np.column_stack(values)


def _candidates(variables: tuple[str, ...]) -> Iterator[Node]:
    """Yield monomials by increasing degree, functions of variables, and these functions times a variable."""
    leaves = [variable(name) for name in variables]
    for degree in range(1, settings["degree"] + 1):
        for factors in combinations_with_replacement(leaves, degree):
            yield reduce(partial(call, "multiply"), factors)
    functions = [
        call("divide", number(1), leaf) if name == "inverse" else call(name, leaf)
        for name in settings["functions"]
        for leaf in leaves
    ]
    yield from functions
    yield from (call("multiply", leaf, function) for leaf in leaves for function in functions)


def _solve(terms: list[Node], columns: FloatArray, target: FloatArray) -> Model:
    """Return the sum of scaled terms and an offset, with the scales and the offset that minimize the squared error."""
    from sklearn.linear_model import LinearRegression

    scales = np.std(columns, axis=0)  # else a column 1e17 times as large would hide the others
    fitted = LinearRegression().fit(columns / scales, target)
    constants: list[float] = []
    tree = add_constant(constants, fitted.intercept_)
    for factor, term in zip(fitted.coef_ / scales, terms, strict=True):
        tree = call("add", tree, call("multiply", add_constant(constants, factor), term))
    return Model(tree, constants)
