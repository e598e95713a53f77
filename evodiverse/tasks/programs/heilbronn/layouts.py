"""Place N points in a triangle so that the smallest triangle formed by three of them is as large as possible."""

import numpy as np

from evodiverse.tasks.programs.heilbronn.blocks import lay_anywhere, polish, quality, soften

N = 11


def place_points() -> np.ndarray:
    """Place the points on an arc of a parabola, which no line meets in more than two points.

    Returns:
        Points of shape (N, 2) in the triangle with the corners (0, 0), (1, 0) and (0, 1).
    """
    t = (np.arange(N) + 0.5) / N
    points = np.stack([t**2, (1 - t) ** 2], axis=1)
    rng = np.random.default_rng(0)
    for _ in range(8):
        trial = polish(soften(lay_anywhere(rng, len(points)), 0.015))
        if quality(trial) > quality(points):
            points = trial
    return points
