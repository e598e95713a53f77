"""The front of error against complexity, and which of its equations a person is told of.

The error that puts an equation on the front is that on the rows it was fitted to. Which one is chosen, rows decide that
no fit has seen: the simplest whose error there is within one standard error of the lowest (Breiman et al. 1984,
"Classification and Regression Trees", section 3.4.3), as errors of normal noise would scatter.
"""

from collections.abc import Sequence
from functools import lru_cache
from math import inf, sqrt
from typing import Final, NamedTuple

from evodiverse.ports import Found
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import MAX_SIZE, TreeSizeError, read_tree

EXACT: Final = 1e-12
"""Error, in units of the target's variance, up to which equations explain all there is."""


class Member(NamedTuple):
    """An equation of the front; errors are in units of the target's variance, ``held_out`` is None where no row was."""

    found: Found
    complexity: int
    error: float
    held_out: float | None


@lru_cache(maxsize=20_000)
def measure_complexity(source: str) -> int:
    """Return how many operations, variables, numbers and parameters a skeleton in its one form has, simplified."""
    try:
        return simplify(read_tree(source)).size
    except (TreeSizeError, RecursionError):  # larger than anybody counts
        return MAX_SIZE + 1


def find_front(found: Sequence[Found]) -> list[Member]:
    """Return the equations than which none is simpler and fits as well, the simplest first.

    Args:
        found: Candidates that did not fail, with ``nmse_train`` and ``nmse_held`` among their details.
    """
    members = [
        Member(one, measure_complexity(one.candidate.genotype), _number(one, "nmse_train"), _known(one, "nmse_held"))
        for one in found
    ]
    front: list[Member] = []
    lowest = inf
    for member in sorted(members, key=lambda one: (one.complexity, one.error, one.found.candidate.call)):
        if not front or member.error < lowest:
            front.append(member)
            lowest = max(member.error, EXACT)
    return front


def choose(front: Sequence[Member], n_held_out: int) -> Member:
    """Return the equation that a person is told of, the one with the smallest error where no row was held out.

    Args:
        front: At least one.
        n_held_out: Rows.
    """
    if not n_held_out:
        return front[-1]
    errors = [inf if member.held_out is None else member.held_out for member in front]
    limit = max(min(errors) * (1 + sqrt(2 / n_held_out)), EXACT)
    return next((member for member, error in zip(front, errors, strict=True) if error <= limit), front[-1])


def _number(found: Found, name: str) -> float:
    value = _known(found, name)
    return inf if value is None else value


def _known(found: Found, name: str) -> float | None:
    value = found.details.get(name)
    return None if value is None else float(value)
