"""Paired tests and intervals for the difference between two methods over a few seeds."""

from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

MOST_EXACT = 40
"""The largest number of pairs for which the permutation test is exact."""
N_RESAMPLES = 10_000
"""The number of bootstrap resamples, and of random permutations if there are more than `MOST_EXACT` pairs."""


class Interval(NamedTuple):
    """The mean difference within pairs (ours minus theirs) with the bounds of its 95% interval."""

    mean: float
    low: float
    high: float


def paired_t(differences: Sequence[float]) -> float | None:
    """Return the one-sided p-value of the paired t-test, which is small if our values are higher.

    The paper uses this test (section "Statistical Significance").

    Args:
        differences: ``(n,)`` differences within pairs, ours minus theirs.

    Returns:
        The p-value; None if the test is undefined, because there are fewer than two pairs or all differences are equal.
    """
    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    return float(stats.ttest_1samp(differences, 0, alternative="greater").pvalue)


def bootstrap_interval(differences: Sequence[float]) -> Interval | None:
    """Return the mean difference with its 95% percentile interval over resampled pairs; None for fewer than two pairs.

    With few pairs there are few distinct resamples (10 for 3 pairs), so the interval is coarse, and also too narrow.
    The same differences always give the same interval.
    """
    if len(differences) < 2:
        return None
    means = np.array(differences)[draw_resamples(len(differences))].mean(axis=1)
    return Interval(fmean(differences), *map(float, np.quantile(means, [0.025, 0.975])))


def t_interval(differences: Sequence[float]) -> Interval:
    """Return the mean difference with its 95% t-interval; for one pair, a single point."""
    mean, n = fmean(differences), len(differences)
    half = float(stats.t.ppf(0.975, n - 1)) * stdev(differences) / sqrt(n) if n > 1 else 0.0
    return Interval(mean, mean - half, mean + half)


def draw_resamples(n_pairs: int) -> NDArray[np.int64]:
    """Return the ``(N_RESAMPLES, n_pairs)`` indices of the pairs in each bootstrap resample, the same in every call."""
    return np.random.default_rng(0).integers(0, n_pairs, (N_RESAMPLES, n_pairs))


def permutation_p(differences: Sequence[float]) -> float | None:
    """Return the one-sided p-value of the paired permutation test, small if our values are higher; None without pairs.

    There are 2^n ways to swap the values within n pairs. The p-value is the share of these ways for which the sum of
    the differences is at least as large as the observed sum. With three pairs it is never below 0.125. Up to
    `MOST_EXACT` pairs it is exact: the sums over the two halves of the pairs are enumerated separately and then
    combined. For more pairs it is estimated from `N_RESAMPLES` random ways to swap, the same in every call.

    Args:
        differences: ``(n,)`` differences within pairs, ours minus theirs.
    """
    values, n = np.array(differences, dtype=np.float64), len(differences)
    if n == 0:
        return None
    least = values.sum() - 1e-9 * np.abs(values).sum()  # the observed sum, with a margin for rounding
    if n > MOST_EXACT:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (N_RESAMPLES, n))
        return float(1 + np.count_nonzero(signs @ values >= least)) / (1 + N_RESAMPLES)
    first, second = _signed_sums(values[: n // 2]), np.sort(_signed_sums(values[n // 2 :]))
    return float((len(second) - np.searchsorted(second, least - first)).sum() / 2**n)


def two_sided_p(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of the paired permutation test, at least 2 / 2^n for n pairs; n is at least 1."""
    sides = (permutation_p([sign * value for value in differences]) or 1.0 for sign in (1, -1))
    return min(1.0, 2 * min(sides))


def _signed_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ``(2^n,)`` sums of values under all choices of their signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
