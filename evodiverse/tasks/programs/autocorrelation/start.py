"""Construct a step function whose autoconvolution is flat, as one of three inequalities measures it."""

import numpy as np

N = 1


def construct_steps() -> np.ndarray:
    """Take a function that is large in the middle.

    Returns:
        Heights of shape (steps,) on intervals of equal length.
    """
    heights = np.array([1.0, 1.5, 2.0, 2.5, 3.0, 2.5, 2.0, 1.5, 1.0])
    return heights
