"""Place N points in a triangle so that the smallest triangle formed by three of them is as large as possible."""

import numpy as np

N = 11


def place_points() -> np.ndarray:
    """Place the points on an arc of a parabola, which no line meets in more than two points.

    Returns:
        Points of shape (N, 2) in the triangle with the corners (0, 0), (1, 0) and (0, 1).
    """
    t = (np.arange(N) + 0.5) / N
    points = np.stack([t**2, (1 - t) ** 2], axis=1)
    return points
