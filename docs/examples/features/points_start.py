"""Place N points in a triangle so that the smallest triangle formed by three of them is as large as possible."""

import numpy as np


def place_points() -> np.ndarray:
    """Return 11 points in the triangle with the corners (0, 0), (1, 0) and (0, 1)."""
    points = [
        [0.421, 0.259],
        [0.511, 0.405],
        [0.618, 0.251],
        [0.472, 0.101],
        [0.549, 0.014],
        [0.001, 0.494],
        [0.191, 0.568],
        [0.08, 0.32],
        [0.109, 0.551],
        [0.596, 0.385],
        [0.576, 0.29],
    ]
    return np.array(points)
