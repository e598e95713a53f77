"""What few seeds can say about the difference of two methods."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy import stats

MOST_EXACT = 40
N_RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """The mean difference of pairs, and the bounds of its 95% bootstrap interval."""

    mean: float
    low: float
    high: float


def paired_t(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the p-value of the paired t-test that ours are higher, one-sided (paper, "Statistical Significance").

    None where it has no answer: fewer than two pairs, or differences that are all the same.
    """
    differences = _differences(ours, theirs)
    if len(differences) < 2 or np.ptp(differences) == 0:
        return None
    return float(stats.ttest_rel(ours, theirs, alternative="greater").pvalue)


def bootstrap_interval(ours: Sequence[float], theirs: Sequence[float]) -> Interval | None:
    """Return the mean difference with its 95% percentile interval over resampled pairs; None for fewer than two pairs.

    With N pairs there are few different resamples (10 of 3), so that the interval is coarse, and it is too narrow for
    so few. The same pairs always give the same interval.
    """
    differences = _differences(ours, theirs)
    if len(differences) < 2:
        return None
    low, high = np.quantile(differences[draw_resamples(len(differences))].mean(axis=1), [0.025, 0.975])
    return Interval(fmean(differences.tolist()), float(low), float(high))


def draw_resamples(n_pairs: int) -> NDArray[np.int64]:
    """Return which pairs each bootstrap resample holds, ``(N_RESAMPLES, n_pairs)``, always the same."""
    return np.random.default_rng(0).integers(0, n_pairs, (N_RESAMPLES, n_pairs))


def permutation_p(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the p-value of the paired permutation test that ours are higher, one-sided; None for no pairs.

    It is the share of the 2^N ways to swap the two of each pair that give a sum of differences at least as large; with
    three pairs it is never below 0.125. Up to 40 pairs it is exact: sums over both halves of the pairs are made and
    paired off. Above that it is estimated from 10,000 ways drawn at random, always the same ones.
    """
    differences = _differences(ours, theirs)
    n = len(differences)
    if n == 0:
        return None
    least = differences.sum() - 1e-9 * np.abs(differences).sum()  # what is as large, rounding apart
    if n > MOST_EXACT:
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (N_RESAMPLES, n))
        return float(1 + np.count_nonzero(signs @ differences >= least)) / (1 + N_RESAMPLES)
    first, second = _signed_sums(differences[: n // 2]), np.sort(_signed_sums(differences[n // 2 :]))
    return float((len(second) - np.searchsorted(second, least - first)).sum() / 2**n)


def _signed_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of values under all 2^n choices of their signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def _differences(ours: Sequence[float], theirs: Sequence[float]) -> NDArray[np.float64]:
    if len(ours) != len(theirs):
        raise ValueError(f"expected as many values of one as of the other, got {len(ours)} and {len(theirs)}")
    return np.array(ours, dtype=np.float64) - np.array(theirs, dtype=np.float64)
