"""Several objectives at once: domination, fronts, and how crowded they are.

A candidate dominates another if it is at least as good in each objective, and better in one or, unlike in the usual
definition, equal in all and older; otherwise, copies of one candidate would fill a front.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple, TypeGuard

import numpy as np

from evodiverse.search.features import read_numbers
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.vocabulary import Detail

FEWEST: Final = 2
MOST: Final = 5
"""The largest number of objectives. With more, nearly all candidates are on the front, and hypervolumes take long."""

SCORE: Final = "score"
VALUE: Final = "_value"
"""The end of the column of a component, which may be left out of the name of an objective."""

_BOUNDED: Final = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)-(.+)")


class Objective(NamedTuple):
    """A column of numbers that is maximized, or minimized if it has a bound.

    Attributes:
        column: The column of the log.
        bound: The bound from which a value to be minimized is subtracted; None for a value to be maximized.
    """

    column: str
    bound: float | None = None


def are_objectives(names: object) -> TypeGuard[list[str]]:
    """Return whether a value of ``task.pareto`` is a list of `FEWEST` to `MOST` different texts."""
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return False
    return FEWEST <= len(set(names)) == len(names) <= MOST


def read_objective(text: str, columns: Collection[str]) -> Objective | None:
    """Return the objective that an entry of ``task.pareto`` stands for, or None if there is no such column.

    Args:
        text: The name of a column, without `VALUE` if it is that of a component, to be maximized; after a number and
            a hyphen, as in ``10-length``, to be minimized.
        columns: The columns of numbers of the log.
    """
    parts = _BOUNDED.fullmatch(text)
    bound, name = (None, text) if parts is None else (float(parts[1]), parts[2])
    return next((Objective(column, bound) for column in (name, f"{name}{VALUE}") if column in columns), None)


def measure_objectives(rows: Sequence[Mapping[str, Detail]], objectives: Sequence[Objective]) -> FloatArray:
    """Return the ``(n, d)`` values of candidates in ``d`` objectives, higher is better.

    A value to be minimized is subtracted from its bound. A value that is missing, not a number or not finite is NaN.

    Args:
        rows: The columns of each candidate, by name.
        objectives: The objectives.
    """
    signs = np.array([1.0 if one.bound is None else -1.0 for one in objectives])
    return np.array([one.bound or 0.0 for one in objectives]) + signs * read_numbers(
        rows, [one.column for one in objectives]
    )


def rank_fronts(values: FloatArray) -> IntArray:
    """Return the ``(n,)`` numbers of the fronts that candidates are on (Deb et al. 2002: non-dominated sorting).

    Front 0 holds the candidates that no other one dominates, and each further front those that only candidates of
    earlier fronts dominate. Those without a value in some objective (NaN) are on front ``n``, the last.

    Args:
        values: ``(n, d)`` values, higher is better, oldest candidate first.
    """
    n = len(values)
    # row: the candidate that may dominate that of the column
    is_at_least = np.logical_and.reduce([value[:, None] >= value for value in values.T])
    dominates = is_at_least & (~is_at_least.T | np.triu(np.ones((n, n), dtype=bool), 1))
    n_above = dominates.sum(axis=0)
    ranks, is_left = np.full(n, n), np.isfinite(values).all(axis=1)
    rank = 0
    while is_left.any():
        front = is_left & (n_above == 0)
        ranks[front] = rank
        is_left &= ~front
        n_above -= dominates[front].sum(axis=0)
        rank += 1
    return ranks


def measure_crowding(values: FloatArray) -> FloatArray:
    """Return the ``(n,)`` crowding distances of the candidates of a front (Deb et al. 2002), higher is less crowded.

    It is the distance between the two neighbors in an objective, as a share of the range of the front, summed over the
    objectives, and infinite at the ends of the range. An objective in which all are equal does not count.

    Args:
        values: ``(n, d)`` finite values.
    """
    crowding = np.zeros(len(values))
    for value in values.T:
        order = np.argsort(value, kind="stable")
        ordered = value[order]
        if len(ordered) and ordered[0] < ordered[-1]:
            crowding[order[1:-1]] += (ordered[2:] - ordered[:-2]) / (ordered[-1] - ordered[0])
            crowding[order[[0, -1]]] = np.inf
    return crowding


def order_by_front(values: FloatArray, scores: FloatArray) -> IntArray:
    """Return the ``(n,)`` indices of candidates by front and, on a front, the least crowded first (NSGA-II).

    Of equally crowded candidates, the older comes first. Those without a value in some objective come last, those
    with the highest scores first.

    Args:
        values: ``(n, d)`` values, higher is better, oldest candidate first.
        scores: ``(n,)`` scores, higher is better.
    """
    ranks, crowding, lacks = rank_fronts(values), np.zeros(len(values)), np.isnan(values).any(axis=1)
    for rank in np.unique(ranks[~lacks]):
        front = np.flatnonzero(ranks == rank)
        crowding[front] = measure_crowding(values[front])
    return np.lexsort((np.where(lacks, -scores, 0.0), -crowding, ranks))


class Front:
    """The candidates of a run that no other one dominates, of those added so far, oldest first.

    Adding one takes time in proportion to the size of the front.

    Attributes:
        calls: The number of the oracle call of each.
        values: ``(n, d)`` values, higher is better.

    Args:
        n_objectives: The number ``d`` of objectives.
    """

    def __init__(self, n_objectives: int) -> None:
        self.calls: list[int] = []
        self.values: FloatArray = np.empty((0, n_objectives))

    def add(self, call: int, values: FloatArray) -> bool:
        """Add a candidate that is younger than all others, and drop those that it dominates.

        Args:
            call: The number of its oracle call.
            values: ``(d,)`` values; a candidate with NaN is not added.

        Returns:
            Whether it is on the front.
        """
        if np.isnan(values).any() or (self.values >= values).all(axis=1).any():
            return False
        stays = np.flatnonzero(~(values >= self.values).all(axis=1))
        self.calls = [*(self.calls[at] for at in stays.tolist()), call]
        self.values = np.vstack([self.values[stays], values])
        return True

    def spread(self) -> list[int]:
        """Return the calls, the least crowded first; of equally crowded candidates, the older first."""
        return [self.calls[at] for at in np.argsort(-measure_crowding(self.values), kind="stable").tolist()]
