"""Means over runs, and their intervals."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.results.figures.intervals import estimate, hold, make_band, make_iteration_band

NUMBERS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9)


@given(NUMBERS)
def test_the_interval_of_one_problem_is_that_of_students_t(values: list[float]) -> None:
    found = estimate(values)
    sem = np.std(values, ddof=1) / math.sqrt(len(values))
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), sem) if sem > 0 else (np.mean(values),) * 2
    assert (found.mean, found.low, found.high) == pytest.approx((np.mean(values), low, high), abs=1e-6)


def test_a_single_run_has_no_interval() -> None:
    found = estimate([0.3])
    assert (found.mean, found.low, found.high, found.n) == (0.3, None, None, 1)


def test_problems_that_differ_do_not_widen_the_interval_of_seeds() -> None:
    near = estimate([1, 2, 1, 2], ["a", "a", "b", "b"])
    far = estimate([1, 2, 101, 102], ["a", "a", "b", "b"])
    assert near.high is not None
    assert far.high is not None
    assert far.high - far.mean == pytest.approx(near.high - near.mean)
    # The variance within is 0.5 with two degrees of freedom; that of the mean is 0.5 (1/2 + 1/2) / 4 = 1/8.
    assert far.high - far.mean == pytest.approx(stats.t.ppf(0.975, 2) / math.sqrt(8))


def test_each_problem_counts_alike_however_many_seeds_it_has() -> None:
    assert estimate([0, 0, 0, 3], ["a", "a", "a", "b"]).mean == 1.5


def test_a_curve_holds_its_value_until_the_next_call() -> None:
    found = hold([2, 5], [0.1, 0.4], np.array([1.0, 2, 4.9, 5, 9]))
    assert found.tolist() == pytest.approx([np.nan, 0.1, 0.1, 0.4, 0.4], nan_ok=True)


def test_a_run_that_ended_early_keeps_its_last_value() -> None:
    band = make_band([([1], [0.2]), ([1, 3], [0.4, 0.8])], end=6)
    assert band.x.tolist() == [1, 3, 6]
    assert band.mean.tolist() == pytest.approx([0.3, 0.5, 0.5])


def test_iterations_are_at_the_mean_of_the_calls_of_their_runs() -> None:
    band = make_iteration_band([([2, 4], [0.2, 0.4]), ([2, 6, 8], [0.4, 0.6, 0.8])])
    assert band.x.tolist() == [2, 5, 8]
    assert band.mean.tolist() == pytest.approx([0.3, 0.5, 0.6])


def test_the_calls_never_fall_when_a_run_ends() -> None:
    band = make_iteration_band([([10, 20, 30], [0.1, 0.2, 0.3]), ([2, 4, 6, 8, 10], [0.1, 0.2, 0.3, 0.4, 0.5])])
    assert band.x.tolist() == [6, 12, 18, 18, 18]


def test_runs_without_a_value_at_an_iteration_do_not_count_there() -> None:
    band = make_iteration_band([([1, 2], [None, 0.4]), ([1, 2], [None, None])])
    assert band.mean.tolist() == pytest.approx([np.nan, 0.4], nan_ok=True)
