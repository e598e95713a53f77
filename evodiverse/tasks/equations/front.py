"""The Pareto front of error against complexity, and the choice of the one equation that a run ends with.

Whether an equation is on the front depends on its error on the rows that it was fitted to. The choice depends on rows
that no fit has seen: the chosen equation is the simplest one whose error on these rows is within one standard error of
the lowest (Breiman et al. 1984, "Classification and Regression Trees", section 3.4.3). If there are no such rows, the
chosen equation is the one with which the data have the shortest description.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf, log
from typing import Final, NamedTuple

from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import MAX_SIZE, read_tree
from evodiverse.vocabulary import Detail

EXACT: Final = 1e-20
"""Error, in units of the target's variance, up to which an equation counts as exact, since floats have 16 digits."""

COST: Final = 100.0
"""The factor by which a violation of what a user requires multiplies the errors that rank an equation."""

SYMBOLS: Final = 10
"""Each part of an equation costs as much to describe as a choice among so many symbols."""


WEIGHED: Final = ("nmse_train", "nmse_held", "nmse_held_se", "description_length", "violations")
"""The columns of the log on which the choice of one equation depends."""


class Member(NamedTuple):
    """An evaluated equation. Errors are mean squared errors in units of the target's variance.

    Attributes:
        call: The number of the equation's oracle call.
        complexity: The complexity of the equation; see `measure_complexity`.
        error: The error on the rows that were fitted.
        held_out: The error on the rows that were held back, infinite if there were none or it is not known.
        deviation: The standard error of ``held_out``.
        description: The length, in nats, of a description of the target by the equation: of its structure, its
            parameters and its residuals. Infinite if it is not known because rows were held back.
    """

    call: int
    complexity: int
    error: float
    held_out: float
    deviation: float
    description: float = inf


def weigh(call: int, source: str, row: Mapping[str, Detail]) -> Member:
    """Return the complexity and the errors of an equation, from its row in the log.

    The errors are multiplied by `COST` to the power of the violations, and then the description is infinite.

    Args:
        call: The number of the equation's oracle call.
        source: The source code of the equation in canonical form, in which the fitted constants are parameters.
        row: Its columns `WEIGHED`, of which any may be missing; an error that is missing or None is infinite.
    """
    complexity = measure_complexity(source)
    *known, length, violations = map(row.get, WEIGHED)
    errors = (inf if value is None else float(value) for value in known)
    description = inf if length is None else float(length) + complexity * log(SYMBOLS)
    if violations:
        errors = (max(value, EXACT) * COST ** float(violations) for value in errors)
        description = inf
    return Member(call, complexity, *errors)._replace(description=description)


@lru_cache(maxsize=20_000)
def measure_complexity(source: str) -> int:
    """Return the number of operations, variables, numbers and parameters in a skeleton, once it is simplified.

    For a skeleton that is too large to count, this is `MAX_SIZE` + 1.
    """
    try:
        return simplify(read_tree(source)).size
    except RecursionError:  # too large to count
        return MAX_SIZE + 1


def find_front(members: Iterable[Member]) -> list[Member]:
    """Return the equations that fit better than all simpler ones, at most one per complexity, the simplest first.

    Of several equations of the same complexity, only the one that fits best is considered. Equations with errors up to
    `EXACT` fit equally well.
    """
    front: list[Member] = []
    lowest = inf
    for member in sorted(members, key=lambda one: (one.complexity, one.error, one.call)):
        error = max(member.error, EXACT)
        if not front or error < lowest:
            front.append(member)
            lowest = error
    return front


def choose(front: Sequence[Member]) -> Member:
    """Return the simplest equation whose error on the rows held back is within one standard error of the lowest.

    If no such error is finite, the equation with the shortest description of the data is returned, or the one that
    fits best if no description is known.

    Args:
        front: The front as `find_front` returns it, with at least one equation.
    """
    best = min(front, key=lambda member: member.held_out)
    if best.held_out == inf:
        return min(reversed(front), key=lambda member: member.description)
    limit = max(best.held_out + best.deviation, EXACT)
    return next(member for member in front if member.held_out <= limit)
