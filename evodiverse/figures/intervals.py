"""Means over runs and how far they may be off, of numbers and of curves that have a value at other calls each."""

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
"""What bands and whiskers are."""

BANDS: Final = "bands: 95% t intervals over seeds"
WHISKERS: Final = "whiskers: 95% t intervals over seeds"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the bounds of its 95% t interval, and of how many numbers; without bounds where they say nothing."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Band:
    """A mean curve with its interval.

    Attributes:
        x: ``(n,)``, rising.
        mean: ``(n,)``; NaN where no run has a value.
        low: ``(n,)``, the lower bound; NaN where there is none.
        high: ``(n,)``, the upper bound.
        n_runs: How many runs it stands on.
    """

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    n_runs: int


def estimate(values: Sequence[float], strata: Sequence[Hashable] | None = None) -> Estimate:
    """Return the mean of some runs' numbers with its 95% t interval.

    Runs on several problems differ between these far more than between seeds. So the mean is that of the problems'
    means, and the interval says what other seeds on the same problems would have changed: the variance is pooled within
    problems. There is none for a single seed a problem.

    Args:
        values: At least one, finite.
        strata: The problem of each; None if there is one alone.
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
    """Return a curve's values at other calls: the last one before each, NaN before the first.

    Args:
        calls: ``(n,)``, not falling.
        values: ``(n,)``; None is no value.
        at: Calls.
    """
    numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    places = np.searchsorted(np.array(calls, dtype=np.float64), at, side="right") - 1
    return np.where(places >= 0, numbers[places], np.nan) if len(numbers) else np.full(len(at), np.nan)


def make_band(
    curves: Sequence[tuple[Sequence[float], Sequence[float | None]]],
    strata: Sequence[Hashable] | None = None,
    end: float | None = None,
) -> Band:
    """Return the mean of the curves of some runs at each call at which one of them changes.

    A curve keeps its last value where another goes on for longer. At each call those that have a value there count.

    Args:
        curves: Calls and values of each run, at least one.
        strata: The problem of each, see `estimate`.
        end: The last call to be shown, None for the last of any curve.
    """
    x = np.unique(np.array([call for calls, _ in curves for call in calls], dtype=np.float64))
    if end is not None:
        x = np.unique(np.append(x[x <= end], end))
    return _join(x, np.array([hold(calls, values, x) for calls, values in curves]), strata)


def make_iteration_band(
    curves: Sequence[tuple[Sequence[float], Sequence[float | None]]], strata: Sequence[Hashable] | None = None
) -> Band:
    """Return the mean of the curves of some runs iteration by iteration, each at the mean of their calls up to then.

    A curve that ends early keeps its last value; the calls are those of the runs that had the iteration.

    Args:
        curves: Calls and values of each run after each iteration, at least one.
        strata: The problem of each, see `estimate`.
    """
    n = max(len(values) for _, values in curves)
    calls = np.full((len(curves), n), np.nan)
    held = np.full((len(curves), n), np.nan)
    for row, (at, values) in enumerate(curves):
        known = [np.nan if value is None else value for value in values]
        calls[row, : len(at)] = at
        held[row] = known + known[-1:] * (n - len(known))
    return _join(np.nanmean(calls, axis=0), held, strata)


def _join(x: FloatArray, held: FloatArray, strata: Sequence[Hashable] | None) -> Band:
    """Return the band of curves, ``(runs, n)``."""
    problems = list(strata or [0] * len(held))
    bounds = np.full((3, len(x)), np.nan)
    for place, column in enumerate(held.T):
        there = np.isfinite(column)
        if there.any():
            known = [problem for problem, is_there in zip(problems, there, strict=True) if is_there]
            found = estimate(column[there].tolist(), known)
            bounds[:, place] = [np.nan if value is None else value for value in (found.mean, found.low, found.high)]
    mean, low, high = bounds
    return Band(x, mean, low, high, len(held))
