"""Place N points in the plane so that the ratio of their largest to their smallest distance is minimal."""

import numpy as np

from evodiverse.tasks.programs.distances.blocks import lay_disk, polish, quality

N = 16


def place_points() -> np.ndarray:
    """Place the points on a circle.

    Returns:
        Points of shape (N, 2).
    """
    angle = 2 * np.pi * np.arange(N) / N
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rng = np.random.default_rng(0)
    for _ in range(8):
        trial = polish(lay_disk(rng, len(points)))
        if quality(trial) > quality(points):
            points = trial
    return points
