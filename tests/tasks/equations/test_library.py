"""Which terms and factors the data ask for, against least squares."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from evodiverse.tasks.equations.operators.grammar import FACTORS, Grammar
from evodiverse.tasks.equations.operators.library import Library, Term
from evodiverse.tasks.equations.operators.trees import parameter, variable
from evodiverse.tasks.equations.permitted import Permitted

RNG = np.random.default_rng(0)
INPUTS = RNG.uniform(0.2, 3, (200, 2))
X, V = INPUTS.T
GRAMMAR = Grammar(("x", "v"), frozenset({"x", "v"}))


def library(target: NDArray[np.float64]) -> Library:
    return Library({"x": X, "v": V}, target, GRAMMAR)


def left(target: NDArray[np.float64], columns: list[NDArray[np.float64]]) -> float:
    """The squared error that the best sum of some columns leaves, in units of the target's squares."""
    matrix = np.stack(columns, axis=1)
    return float(np.sum((target - matrix @ np.linalg.lstsq(matrix, target)[0]) ** 2) / np.sum(target**2))


def suggested(target: NDArray[np.float64], others: list[NDArray[np.float64]], scale: NDArray[np.float64] | None) -> str:
    """The name and the variable of the factor suggested most often."""
    rng, knowing = np.random.default_rng(1), library(target)
    drawn = [knowing.suggest_factor(others, scale, rng) for _ in range(60)]
    factors = [found[0] for found in drawn if found is not None]
    most = max(set(factors), key=factors.count)
    named = {GRAMMAR.build_factor(name, variable(letter), 0): f"{name} {letter}" for name in FACTORS for letter in "xv"}
    return named[most]


def test_the_factor_that_explains_what_is_left_is_suggested_most() -> None:
    target = 3 * X + 0.4 * np.exp(-3 * V / np.ptp(V))
    assert suggested(target, [X], None) == "decay v"


def test_the_factor_that_a_term_lacks_is_suggested_most() -> None:
    assert suggested(5 * V / (V + 0.3 * V.max()) * X + 2, [np.ones(200)], X) == "saturation v"


def test_what_a_factor_explains_is_what_least_squares_explains() -> None:
    """With one candidate alone the gain decides whether there is a suggestion, so the first one is the best of all."""
    target = np.sin(2 * X) * V + 0.3 * X
    knowing = library(target)
    found = knowing.suggest_factor([X], V, np.random.default_rng(8))
    assert found is not None

    grids = [
        (node, node.evaluate({letter: column}, p))
        for letter, column in (("x", X), ("v", V))
        for name, factor in FACTORS.items()
        for node in [GRAMMAR.build_factor(name, variable(letter), 0)]
        for p in factor.grid(float(column.min()), float(column.max()))
    ]
    best = min(grids, key=lambda pair: left(target, [X, V * pair[1]]))
    rng = np.random.default_rng(3)
    first = [s for s in (knowing.suggest_factor([X], V, rng) for _ in range(40)) if s is not None]
    assert best[0] in {suggestion for suggestion, _ in first}
    (values,) = {tuple(values) for suggestion, values in first if suggestion == best[0]}
    assert left(target, [X, np.array(values)]) == pytest.approx(left(target, [X, V * best[1]]))


def test_nothing_is_suggested_where_nothing_is_left() -> None:
    assert library(np.zeros(200)).suggest_factor([], None, np.random.default_rng(0)) is None


def test_terms_with_no_numbers_do_not_stop_a_suggestion() -> None:
    broken = np.where(X > 1, np.nan, X)
    assert library(X * V).suggest_factor([broken], None, np.random.default_rng(0)) is not None
    assert library(X * V).suggest_factor([], broken, np.random.default_rng(0)) is None


def test_the_same_rows_suggest_the_same() -> None:
    one, other = (library(X**2 * V).suggest_factor([], None, np.random.default_rng(5)) for _ in range(2))
    assert one is not None
    assert other is not None
    assert one[0] == other[0]


def test_a_factor_is_a_number_over_the_whole_range_of_its_grid() -> None:
    for name in FACTORS:
        node = GRAMMAR.build_factor(name, variable("x"), 0)
        for params in FACTORS[name].grid(float(X.min()), float(X.max())):
            values = node.evaluate({"x": X}, params)
            assert np.isfinite(values).all(), name
        assert parameter(2) not in {node, *node.arguments}, name  # there are no more than two


def test_a_term_of_two_factors_is_found() -> None:
    found = library(2 * X**2 * np.sin(V) + V).suggest_term([V], None, np.random.default_rng(8))
    assert found is not None
    assert left(2 * X**2 * np.sin(V) + V, [V, found.column]) < 1e-20
    assert str(found.build(3)).startswith("multiply(multiply(parameter 3,")


def test_two_terms_are_found_of_which_neither_explains_much_alone() -> None:
    target, knowing = X * np.sin(V) - 0.9 * X * V, library(X * np.sin(V) - 0.9 * X * V)
    pairs = [knowing.suggest_pair([], None, np.random.default_rng(seed)) for seed in range(9)]
    best = min(pairs, key=lambda pair: left(target, [term.column for term in pair]))
    assert left(target, [term.column for term in best]) < 1e-20
    assert min(left(target, [term.column]) for term in best) > 1e-3


def test_the_best_pair_is_that_of_all_pairs() -> None:
    target = np.exp(-X) * V + 0.1 * X**3
    knowing = library(target)
    pairs = [knowing.suggest_pair([], None, np.random.default_rng(seed)) for seed in range(9)]
    columns = [term.column for pair in pairs for term in pair]
    best = min(left(target, list(pair)) for pair in itertools.combinations(columns, 2))
    assert min(left(target, [term.column for term in pair]) for pair in pairs) == pytest.approx(best)


def test_a_sum_of_terms_is_found_at_once() -> None:
    target = 3 * X - 2 * V**2 * X + np.sin(V)
    sums: list[list[Term]] = []
    knowing = library(target)
    for seed in range(40):
        factors, terms = knowing.compose(np.random.default_rng(seed))
        sums += [] if factors else [terms]
    assert min(left(target, [term.column for term in terms]) for terms in sums) < 1e-20
    assert {1, 6} < {len(terms) for terms in sums}


def test_a_new_sum_may_be_multiplied_by_what_the_target_is_proportional_to() -> None:
    target = X**2 * (np.exp(-V) + 0.1 * V**3 - 0.2)
    knowing = library(target)
    factors = [knowing.compose(np.random.default_rng(seed))[0] for seed in range(40)]
    assert [GRAMMAR.build_factor("square", variable("x"), 0)] in factors


def test_a_library_of_two_terms_has_one_pair_however_deep_the_draw() -> None:
    only = Library({"x": X}, X**2, Grammar(("x",), frozenset({"x"}), Permitted(("where",))))
    for seed in range(30):
        assert len(only.suggest_pair([], None, np.random.default_rng(seed))) == 2
