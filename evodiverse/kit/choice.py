"""Weighted choice, such as that of the kind of a variation."""

from collections.abc import Collection
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def pick(choices: Collection[tuple[T, float]], rng: np.random.Generator) -> T:
    """Draw one of ``(value, weight)`` with probability proportional to its weight.

    Args:
        choices: At least one; weights are positive and need not sum to one.
        rng: Consumed once.
    """
    draw = rng.random() * sum(weight for _, weight in choices)
    for value, weight in choices:
        draw -= weight
        if draw < 0:
            return value
    return value  # the last, where rounding has left something
