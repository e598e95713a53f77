"""Weighted random choice, such as the choice of a kind of variation."""

from collections.abc import Collection
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def pick(choices: Collection[tuple[T, float]], rng: np.random.Generator) -> T:
    """Draw one of several values with probability proportional to its weight.

    Args:
        choices: The pairs ``(value, weight)`` to choose from, at least one; weights are positive and need not sum to 1.
        rng: The generator, from which one number is drawn.
    """
    draw = rng.random() * sum(weight for _, weight in choices)
    for value, weight in choices:
        draw -= weight
        if draw < 0:
            return value
    return value  # rounding can leave a remainder; it belongs to the last value
