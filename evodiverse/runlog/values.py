"""What a metric of a run may be."""

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import fmean
from typing import TypeAlias

Value: TypeAlias = float | list[float | None] | None
"""A number, one for each pool or pair of rungs, or None where there is nothing to measure."""

Measurement: TypeAlias = Mapping[str, Value]
"""The metrics of one run by name."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, None for no values."""
    return fmean(values) if values else None


def known(value: float) -> float | None:
    """Return a number, None for NaN."""
    return None if isnan(value) else value
