"""Construct many integer vectors in N dimensions, no two of which are closer in direction than 60 degrees."""

import numpy as np

N = 11


def construct_vectors() -> np.ndarray:
    """Take the unit vectors and their opposites.

    Returns:
        Integer vectors of shape (size, N), none of them zero, with an angle of at least 60 degrees between any two.
    """
    vectors = np.concatenate([np.eye(N, dtype=int), -np.eye(N, dtype=int)])
    return vectors
