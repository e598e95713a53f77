"""Types and helpers for the values of metrics."""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import TypeAlias

Value: TypeAlias = float | list[float | None] | None
"""A number, one number per pool or pair of rungs, the numbers of a curve, or None if there is nothing to measure."""

Measurement: TypeAlias = Mapping[str, Value]
"""The metrics of one run by name."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean; None if there are no values."""
    return fmean(values) if values else None


def known(value: float) -> float | None:
    """Return the number itself; None for NaN."""
    return None if isnan(value) else value


def find_rises(values: Iterable[tuple[int, float]]) -> tuple[list[float | None], list[float | None]]:
    """Return the calls that had a higher value than every earlier call, and the values of these calls.

    The first call always counts. The lists never contain None. Their type allows None only so that they can be used as
    a `Value`.

    Args:
        values: Pairs of the number of an oracle call and the value of this call, sorted by number.
    """
    calls: list[float | None] = []
    records: list[float | None] = []
    best: float | None = None
    for call, value in values:
        if best is None or value > best:
            best = value
            calls.append(call)
            records.append(value)
    return calls, records
