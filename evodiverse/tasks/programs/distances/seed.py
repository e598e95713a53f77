"""Place N points in the plane so that their largest distance is as few times their smallest as it can be."""

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
