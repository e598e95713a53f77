"""Construct a large cap set in N dimensions: vectors over {0, 1, 2}, no three of which lie on a line."""

import numpy as np

N = 8


def construct_cap() -> np.ndarray:
    """Take all vectors of zeros and ones.

    Returns:
        Different vectors of shape (size, N), with integers from 0 to 2; no three of them sum to 0 modulo 3.
    """
    points = np.stack(np.unravel_index(np.arange(2**N), (2,) * N), axis=1)
    return points
