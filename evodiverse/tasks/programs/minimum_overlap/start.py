"""Construct a step function whose overlap with its complement is small, wherever the two are placed."""

import numpy as np


def construct_steps() -> np.ndarray:
    """Take a function that is large in the middle.

    Returns:
        Heights of shape (steps,), from 0 to 1, on intervals of equal length; they are made to average 1/2.
    """
    heights = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 0.8, 0.6, 0.4, 0.2])
    return heights
