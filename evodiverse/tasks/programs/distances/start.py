"""Place N points in the plane so that the ratio of their largest to their smallest distance is minimal."""

import numpy as np

N = 16


def place_points() -> np.ndarray:
    """Place the points on a circle.

    Returns:
        Points of shape (N, 2).
    """
    angle = 2 * np.pi * np.arange(N) / N
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points
