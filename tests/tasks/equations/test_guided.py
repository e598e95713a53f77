"""What the data say about a factor before anything is fitted, against least squares."""

import numpy as np
import pytest
from numpy.typing import NDArray

from evodiverse.tasks.equations.operators.grammar import FACTORS, Grammar
from evodiverse.tasks.equations.operators.guided import Guide
from evodiverse.tasks.equations.operators.trees import parameter, variable

RNG = np.random.default_rng(0)
INPUTS = RNG.uniform(0.2, 3, (200, 2))
X, V = INPUTS.T
GRAMMAR = Grammar(("x", "v"), frozenset({"x", "v"}))


def guide(target: NDArray[np.float64]) -> Guide:
    return Guide(("x", "v"), INPUTS, target, GRAMMAR)


def suggested(target: NDArray[np.float64], others: list[NDArray[np.float64]], scale: NDArray[np.float64] | None) -> str:
    """The name and the variable of the factor suggested most often."""
    rng, knowing = np.random.default_rng(1), guide(target)
    drawn = [knowing.suggest(others, scale, rng) for _ in range(60)]
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
    knowing = guide(target)
    found = knowing.suggest([X], V, np.random.default_rng(8))
    assert found is not None

    def left(columns: list[NDArray[np.float64]]) -> float:
        matrix = np.stack(columns, axis=1)
        return float(np.sum((target - matrix @ np.linalg.lstsq(matrix, target)[0]) ** 2))

    grids = [
        (node, node.evaluate({letter: column}, p))
        for letter, column in (("x", X), ("v", V))
        for name, factor in FACTORS.items()
        for node in [GRAMMAR.build_factor(name, variable(letter), 0)]
        for p in factor.grid(float(column.min()), float(column.max()))
    ]
    best = min(grids, key=lambda pair: left([X, V * pair[1]]))
    rng = np.random.default_rng(3)
    first = [s for s in (knowing.suggest([X], V, rng) for _ in range(40)) if s is not None]
    assert best[0] in {suggestion for suggestion, _ in first}
    (values,) = {tuple(values) for suggestion, values in first if suggestion == best[0]}
    assert left([X, np.array(values)]) == pytest.approx(left([X, V * best[1]]))


def test_nothing_is_suggested_where_nothing_is_left() -> None:
    assert guide(np.zeros(200)).suggest([], None, np.random.default_rng(0)) is None


def test_terms_with_no_numbers_do_not_stop_a_suggestion() -> None:
    broken = np.where(X > 1, np.nan, X)
    assert guide(X * V).suggest([broken], None, np.random.default_rng(0)) is not None
    assert guide(X * V).suggest([], broken, np.random.default_rng(0)) is None


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
    knowing = Guide(("t",), dates[:, None], 0.002 * dates - 3.4e9, GRAMMAR)
    assert knowing.find_needed([noise, ones, dates]) == [1, 2]
    suggestion = knowing.suggest([ones], None, np.random.default_rng(0))
    assert suggestion is not None
    assert np.corrcoef(suggestion[1], dates)[0, 1] == pytest.approx(1)


def test_one_term_always_stays() -> None:
    assert guide(np.zeros(len(X))).find_needed([X, V]) in ([0], [1])


def test_the_same_rows_suggest_the_same() -> None:
    one, other = (guide(X**2 * V).suggest([], None, np.random.default_rng(5)) for _ in range(2))
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
