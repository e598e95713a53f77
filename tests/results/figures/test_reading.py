"""Means over runs, and their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.results.figures.reading import estimate

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9)


@given(NUMBERS)
def test_the_interval_of_one_problem_is_that_of_students_t(values: list[float]) -> None:
    found = estimate(values)
    sem = np.std(values, ddof=1) / math.sqrt(len(values))
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), sem) if sem > 0 else (np.mean(values),) * 2
    assert tuple(found) == pytest.approx((np.mean(values), low, high), abs=1e-6)


def test_a_single_run_has_no_interval() -> None:
    found = estimate([0.3])
    assert found.tolist() == pytest.approx([0.3, np.nan, np.nan], nan_ok=True)


def test_problems_that_differ_do_not_widen_the_interval_of_seeds() -> None:
    near_mean, _, near_high = estimate([1, 2, 1, 2], ["a", "a", "b", "b"])
    far_mean, _, far_high = estimate([1, 2, 101, 102], ["a", "a", "b", "b"])
    assert far_high - far_mean == pytest.approx(near_high - near_mean)
    # The variance within is 0.5 with two degrees of freedom; that of the mean is 0.5 (1/2 + 1/2) / 4 = 1/8.
    assert far_high - far_mean == pytest.approx(stats.t.ppf(0.975, 2) / math.sqrt(8))


def test_each_problem_counts_alike_however_many_seeds_it_has() -> None:
    assert estimate([0, 0, 0, 3], ["a", "a", "a", "b"])[0] == 1.5


def test_columns_are_estimated_one_by_one_and_leave_out_what_is_not_finite() -> None:
    found = estimate([[1, 1, None], [2, np.inf, None], [5, 5, None]], ["a", "a", "b"])
    assert np.array_equal(found[:, 0], estimate([1, 2, 5], ["a", "a", "b"]))
    assert found[:, 1].tolist() == pytest.approx([3, np.nan, np.nan], nan_ok=True)
    assert np.isnan(found[:, 2]).all()
