"""Place N points in the plane so that the ratio of their largest to their smallest distance is minimal."""

import numpy as np
from scipy.optimize import minimize

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


def lay_disk(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points at random in a disk."""
    angle = 2 * np.pi * rng.random(n)
    return np.array(np.sqrt(rng.random((n, 1))) * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def polish(points: np.ndarray) -> np.ndarray:
    """Move points to a local minimum of their largest distance, keeping all distances at least 1."""
    n = len(points)
    i, j = np.triu_indices(n, 1)
    rows, cost = (np.arange(len(i)), np.append(np.zeros(2 * n), 1))

    def squares(z: np.ndarray) -> np.ndarray:
        x, y = z.reshape(2, n)
        return np.array((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2)

    def gaps(z: np.ndarray) -> np.ndarray:
        distances = squares(z[:-1])
        return np.concatenate([distances - 1, z[-1] - distances])

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y = z[:-1].reshape(2, n)
        apart = np.zeros((len(i), 2 * n + 1))
        for start, step in [(0, x[i] - x[j]), (n, y[i] - y[j])]:
            apart[rows, start + i] = 2 * step
            apart[rows, start + j] = -2 * step
        return np.concatenate([apart, cost - apart])

    spots = (points - points.mean(axis=0)).T.ravel()
    spots = spots / np.sqrt(np.maximum(squares(spots).min(), squares(spots).max() / 100))
    start, kept = (np.append(spots, squares(spots).max()), {"type": "ineq", "fun": gaps, "jac": slopes})
    found = minimize(cost.dot, start, jac=lambda _: cost, constraints=kept, options={"ftol": 1e-12})
    return np.array(found.x[:-1].reshape(2, n).T)


def quality(points: np.ndarray) -> float:
    """Return the square of the ratio of the smallest to the largest distance between two points."""
    i, j = np.triu_indices(len(points), 1)
    squares = ((points[i] - points[j]) ** 2).sum(axis=1)
    return float(squares.min() / squares.max())
