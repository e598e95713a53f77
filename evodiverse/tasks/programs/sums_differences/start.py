"""Construct a set of integers that has many more differences than sums, for its size."""

import numpy as np  # noqa: F401 (the moves use it)


def construct_set() -> tuple[list[int], int, int]:
    """Take numbers with a few digits, of which only one may be above 0.

    Returns:
        Weights, a cap and a total: the set holds all sums of the weights that take each weight from 0 to ``cap`` times
        and at most ``total`` weights in all.
    """
    digits = 2
    cap = 1
    total = 1
    return [(2 * cap + 1) ** place for place in range(digits)], cap, total
