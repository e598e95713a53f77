"""Means over runs with confidence intervals: of single numbers, and of curves of values by oracle calls."""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FloatArray = NDArray[np.float64]
LEVEL: Final = 0.95
WHAT: Final = "95% t intervals of the mean over seeds"
"""The meaning of bands and whiskers, for captions."""

BANDS: Final = "bands: 95% t intervals over seeds"
WHISKERS: Final = "whiskers: 95% t intervals over seeds"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its 95% t interval.

    Attributes:
        mean: The mean of the values.
        low: The lower bound; None if there is no interval.
        high: The upper bound; None if there is no interval.
        n: The number of values.
    """

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Band:
    """A mean curve with its 95% t interval.

    Attributes:
        x: ``(n,)`` numbers of oracle calls or of iterations, in increasing order. In a band from `make_iteration_band`,
            consecutive numbers may be equal.
        mean: ``(n,)`` means; NaN where no run has a value.
        low: ``(n,)`` lower bounds; NaN where there is no interval.
        high: ``(n,)`` upper bounds; NaN where there is no interval.
        n_runs: The number of runs.
    """

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    n_runs: int


def estimate(values: Sequence[float], strata: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of one value per run, with its 95% t interval.

    The mean is the mean of the problems' means. The interval shows how much this mean would change with other seeds on
    the same problems. It therefore depends only on the differences between runs on the same problem (the variance is
    pooled within problems); differences between problems, which are far larger, do not widen it. There is no interval
    if each problem has a single seed.

    Args:
        values: ``(n,)`` finite values, at least one.
        strata: ``(n,)`` problems of the values; None if all values are from one problem.
    """
    groups: dict[Hashable, list[float]] = defaultdict(list)
    for value, stratum in zip(values, strata or [0] * len(values), strict=True):
        groups[stratum].append(value)
    means = {stratum: fmean(some) for stratum, some in groups.items()}
    center, freedom = fmean(means.values()), len(values) - len(groups)
    if freedom == 0:
        return Estimate(center, None, None, len(values))
    squares = sum((value - means[stratum]) ** 2 for stratum, some in groups.items() for value in some)
    share = sum(1 / len(some) for some in groups.values()) / len(groups) ** 2
    half = float(stats.t.ppf((1 + LEVEL) / 2, freedom)) * (squares / freedom * share) ** 0.5
    return Estimate(center, center - half, center + half, len(values))


def hold(calls: Sequence[float], values: Sequence[float | None], at: FloatArray) -> FloatArray:
    """Return the values of a step curve at given numbers of calls: each is the last value that the curve took by then.

    Args:
        calls: ``(n,)`` numbers of oracle calls at which the curve takes its values, non-decreasing.
        values: ``(n,)`` values of the curve; None for no value.
        at: ``(m,)`` numbers of calls at which to read the curve.

    Returns:
        ``(m,)`` values; NaN before the start of the curve, and where it has no value.
    """
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    places = np.searchsorted(np.array(calls, dtype=np.float64), at, side="right") - 1
    return np.where(places >= 0, numbers[places], np.nan) if len(numbers) else np.full(len(at), np.nan)


def make_band(
    curves: Sequence[tuple[Sequence[float], Sequence[float | None]]],
    strata: Sequence[Hashable] | None = None,
    end: float | None = None,
) -> Band:
    """Return the mean of the step curves of some runs, at each x (usually a number of calls) where one of them changes.

    After its last x, a curve keeps its last value. The mean at an x is over the curves that have a value there.

    Args:
        curves: The x and the values of the curve of each run, at least one run.
        strata: The problem of each run, needed to average over problems as `estimate` does; None if all runs are on one
            problem.
        end: The x at which the band ends; None for the largest x of the curves.
    """
    x = np.unique(np.array([call for calls, _ in curves for call in calls], dtype=np.float64))
    if end is not None:
        x = np.unique(np.append(x[x <= end], end))
    return _join(x, np.array([hold(calls, values, x) for calls, values in curves]), strata)


def make_iteration_band(
    curves: Sequence[tuple[Sequence[float], Sequence[float | None]]], strata: Sequence[Hashable] | None = None
) -> Band:
    """Return the mean curve of some runs, with one point per iteration.

    The x of a point is the mean number of calls made up to its iteration, and the y is the mean value. After a run has
    ended, its last value still counts toward the mean y, but the run no longer counts toward the mean x. Where this
    would make x fall, because the longer runs made fewer calls per iteration, x stays the same.

    Args:
        curves: For each run, the number of calls made so far and the value, after each iteration; at least one run.
        strata: The problem of each run, needed to average over problems as `estimate` does; None if all runs are on one
            problem.
    """
    n = max(len(values) for _, values in curves)
    calls = np.full((len(curves), n), np.nan)
    held = np.full((len(curves), n), np.nan)
    for row, (at, values) in enumerate(curves):
        known = [np.nan if value is None else value for value in values]
        calls[row, : len(at)] = at
        held[row] = known + known[-1:] * (n - len(known))
    return _join(np.maximum.accumulate(np.nanmean(calls, axis=0)), held, strata)


def _join(x: FloatArray, held: FloatArray, strata: Sequence[Hashable] | None) -> Band:
    """Return the mean curve of some runs with its 95% t interval, at the ``(n,)`` points ``x``; see `estimate`.

    The ``(n_runs, n)`` values of the curves are ``held``; values that are not finite are left out.
    """
    problems = list(strata or [0] * len(held))
    bounds = np.full((3, len(x)), np.nan)
    for place, column in enumerate(held.T):
        there = np.isfinite(column)
        if there.any():
            known = [problem for problem, is_there in zip(problems, there, strict=True) if is_there]
            point = estimate(column[there].tolist(), known)
            bounds[:, place] = [np.nan if value is None else value for value in (point.mean, point.low, point.high)]
    mean, low, high = bounds
    return Band(x, mean, low, high, len(held))
