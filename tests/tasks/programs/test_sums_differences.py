"""Sums and differences: sets are counted as by hand, and the exponent is never flattered."""

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.sums_differences.blocks import climb, quality
from evodiverse.tasks.programs.sums_differences.evaluator import (
    SumsDifferences,
    find_exponent,
    list_elements,
    measure_set,
)
from evodiverse.vocabulary import Reason, Rejection

FORMS = st.tuples(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 3), st.integers(1, 5))
DIGITS = st.builds(
    lambda base, n, cap, total: ([(2 * cap + base) ** k for k in range(n)], cap, total),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 7),
)


def by_hand(form):
    """Return the elements of a set, its sums and differences, each formed one by one."""
    weights, cap, total = form
    elements = {(0, 0)}
    for weight in weights:
        elements = {(a + k * weight, taken + k) for a, taken in elements for k in range(cap + 1) if taken + k <= total}
    values = {a for a, _ in elements}
    return values, {a + b for a in values for b in values}, {a - b for a in values for b in values}


@given(FORMS | DIGITS)
def test_sums_and_differences_are_counted_as_by_hand(form):
    values, sums, differences = by_hand(form)
    assert list_elements(form) == values
    assert measure_set(form) == (len(sums), len(differences), max(values))


def test_any_set_can_be_given():
    conway = [2, 3, 4, 7, 11, 12, 14]  # Conway's set, with 0: it has more sums than differences
    values, sums, differences = by_hand((conway, 1, 1))
    assert values == {0, *conway}
    assert measure_set((conway, 1, 1))[:2] == (len(sums), len(differences)) == (26, 25)


@given(FORMS | DIGITS)
def test_the_exponent_is_rounded_down(form):
    n_sums, n_differences, largest = measure_set(form)
    exact = 1 + log(n_differences / n_sums) / log(2 * largest + 1)
    assert float(find_exponent(form)) == pytest.approx(exact, rel=1e-12)
    assert find_exponent(form) < Fraction(exact) + Fraction(1, 10**12)
    assert find_exponent(([1], 1, 1)) < 1


@pytest.mark.parametrize(("m", "total"), [(3, 2), (4, 3), (6, 5)])
def test_sets_of_gyarmati_hennecart_and_ruzsa_have_the_sums_and_differences_of_their_formulas(m, total):
    n_sums, n_differences, _ = measure_set(([(2 * total + 1) ** k for k in range(m)], total, total))
    assert n_sums == comb(m + 2 * total, m)
    assert n_differences == sum(comb(m, k) * comb(total, k) * comb(m + total - k, m - k) for k in range(m + 1))


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ([[1, 2], 1], "the result is not a list of positive integers and two positive integers"),
        ([[], 1, 1], "the result is not a list of positive integers and two positive integers"),
        ([[1, 0], 1, 1], "the result is not a list of positive integers and two positive integers"),
        ([[1, True], 1, 1], "the result is not a list of positive integers and two positive integers"),
        ([[1.0], 1, 1], "the result is not a list of positive integers and two positive integers"),
        ([[1 << 1_000_001], 1, 1], "the weights are too large"),
        ([[1, 2], 10**9, 10**9], "the set is too large to list its elements"),
        ([list(range(1, 3000)), 1, 2], "the set is too large to list its elements"),
        ([[1, 10**12 + 1, 10**12], 1, 1], "the set is too large to list its sums and differences"),
        ([[3**k for k in range(101)], 1, 5], "expected up to 100 weights and a total of up to 1,000"),
        ([[1], 1, 10**9], "expected up to 100 weights and a total of up to 1,000"),
    ],
)
def test_any_other_result_is_invalid(result, why):
    evaluator = SumsDifferences(ProgramSettings(reference=1.1))
    assert evaluator.score(result) == Rejection(Reason.INVALID, why)


def test_the_blocks_measure_as_the_evaluator_does_and_only_improve():
    form = [11**k for k in range(20)], 5, 18
    assert 1 + quality(20, 5, 18) == pytest.approx(float(find_exponent(form)), rel=1e-3)
    assert quality(*climb(np.random.default_rng(0), 10, 3, 4, 20)) > quality(10, 3, 4)
