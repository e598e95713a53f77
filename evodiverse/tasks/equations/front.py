"""The front of error against complexity, and which of its equations a person is told of.

The error that puts an equation on the front is that on the rows it was fitted to. Which one is chosen, rows decide that
no fit has seen: the simplest whose error there is within one standard error of the lowest (Breiman et al. 1984,
"Classification and Regression Trees", section 3.4.3).
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf
from typing import Final, NamedTuple

from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import MAX_SIZE, TreeSizeError, read_tree
from evodiverse.vocabulary import Detail

EXACT: Final = 1e-20
"""Error, in units of the target's variance, up to which equations explain all there is: numbers have 16 digits."""


class Member(NamedTuple):
    """An evaluated equation; errors are in units of the target's variance.

    Attributes:
        call: When it was charged.
        complexity: See `measure_complexity`.
        error: On the rows that were fitted.
        held_out: On those that were held back, infinite where there were none.
        deviation: The standard error of that mean.
    """

    call: int
    complexity: int
    error: float
    held_out: float
    deviation: float


def weigh(call: int, source: str, error: Detail, held_out: Detail, deviation: Detail) -> Member:
    """Return what is weighed of an equation, a skeleton in its one form, from what was logged of it."""
    errors = (inf if value is None else float(value) for value in (error, held_out, deviation))
    return Member(call, measure_complexity(source), *errors)


@lru_cache(maxsize=20_000)
def measure_complexity(source: str) -> int:
    """Return how many operations, variables, numbers and parameters a skeleton in its one form has, simplified."""
    try:
        return simplify(read_tree(source)).size
    except (TreeSizeError, RecursionError):  # larger than anybody counts
        return MAX_SIZE + 1


def find_front(members: Iterable[Member]) -> list[Member]:
    """Return the equations than which none is simpler and fits as well, the simplest first."""
    front: list[Member] = []
    lowest = inf
    for member in sorted(members, key=lambda one: (one.complexity, one.error, one.call)):
        error = max(member.error, EXACT)
        if not front or error < lowest:
            front.append(member)
            lowest = error
    return front


def choose(front: Sequence[Member]) -> Member:
    """Return the equation of a front that a person is told of, where no row was held back the one that fits best."""
    best = min(front, key=lambda member: member.held_out)
    if best.held_out == inf:
        return front[-1]
    limit = max(best.held_out + best.deviation, EXACT)
    return next(member for member in front if member.held_out <= limit)
