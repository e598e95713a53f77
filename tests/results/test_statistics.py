"""Tests of differences, against scipy's, against all cases written out, and by power."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.results.statistics import bootstrap_interval, paired_t, permutation_p

numbers = st.integers(-50, 50).map(lambda number: number / 16)


def test_the_t_test_is_paired_and_one_sided() -> None:
    # differences 0.1, 0.2, 0.3: t = 0.2 / (0.1 / sqrt(3)), and 3.71% of Student's t with 2 degrees of freedom lie above
    assert paired_t([0.1, 0.2, 0.3]) == pytest.approx(0.0371, abs=5e-5)
    assert paired_t([-0.1, -0.2, -0.3]) == pytest.approx(1 - 0.0371, abs=5e-5)


def test_the_t_test_has_no_answer_without_spread() -> None:
    assert [paired_t(differences) for differences in ([], [0.5], [0.5, 0.5])] == [None] * 3


def test_three_pairs_cannot_be_more_significant_than_one_in_eight() -> None:
    assert permutation_p([9.0, 8.0, 7.0]) == 1 / 8
    assert permutation_p([-9.0, -8.0, -7.0]) == 1.0


@given(st.lists(numbers, min_size=1, max_size=9))
def test_the_permutation_test_counts_all_ways_to_swap_the_pairs(differences: list[float]) -> None:
    observed = sum(differences)
    sums = [
        sum(sign * each for sign, each in zip(signs, differences, strict=True))
        for signs in product([1, -1], repeat=len(differences))
    ]
    expected = sum(total >= observed for total in sums) / len(sums)
    assert permutation_p(differences) == expected


def test_the_permutation_test_is_that_of_scipy() -> None:
    ours, theirs = np.random.default_rng(3).normal(0.3, 1, (2, 12))
    found = stats.permutation_test(
        (ours, theirs),
        lambda one, other: (one - other).sum(),
        permutation_type="samples",
        alternative="greater",
        n_resamples=np.inf,
    )
    assert permutation_p((ours - theirs).tolist()) == pytest.approx(found.pvalue)


def test_rounding_does_not_hide_an_equal_sum() -> None:
    assert permutation_p([0.1, 0.2, 0.3]) == permutation_p([1.0, 2.0, 3.0])
    assert permutation_p([0.3, -0.1, -0.2]) == permutation_p([3.0, -1.0, -2.0])


def test_forty_pairs_are_permuted_exactly() -> None:
    assert permutation_p([1.0] * 40) == 2**-40


def test_more_pairs_are_permuted_at_random() -> None:
    differences = np.random.default_rng(2).normal(0.2, 1, 60)
    expected = stats.norm.sf(differences.sum() / np.sqrt((differences**2).sum()))
    assert permutation_p(differences.tolist()) == pytest.approx(expected, abs=0.01)


def test_the_interval_of_three_pairs_reaches_from_the_least_to_the_largest_difference() -> None:
    interval = bootstrap_interval([0.1, 0.2, 0.3])  # each has 1 of 27 chances to be drawn three times
    assert interval is not None
    assert (interval.mean, interval.low, interval.high) == pytest.approx((0.2, 0.1, 0.3))


def test_the_interval_of_many_pairs_is_that_of_their_mean() -> None:
    ours = np.random.default_rng(1).normal(1, 2, 400)
    interval = bootstrap_interval(ours.tolist())
    assert interval is not None
    half = 1.96 * ours.std() / 20
    assert (interval.low, interval.high) == pytest.approx((ours.mean() - half, ours.mean() + half), abs=0.02)


def test_one_pair_has_no_interval() -> None:
    assert bootstrap_interval([1.0]) is None


def test_the_tests_have_power_and_keep_their_level() -> None:
    rng = np.random.default_rng(0)
    same, better = rng.normal(0, 1, (400, 8)), rng.normal(1.5, 1, (400, 8))
    for test in (paired_t, permutation_p):
        level = np.mean([test(row.tolist()) <= 0.05 for row in same])
        power = np.mean([test(row.tolist()) <= 0.05 for row in better])
        assert 0.02 < level < 0.08
        assert power > 0.9
