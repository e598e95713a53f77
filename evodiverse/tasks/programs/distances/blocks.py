"""Building blocks of programs that place points in the plane: functions whose source the moves insert into a program.

They improve the points of any placement and lay out any number of points. They know nothing about good placements.

Shapes: ``points`` and layouts ``(n, 2)``.
"""

import numpy as np
from scipy.optimize import minimize


def quality(points: np.ndarray) -> float:
    """Return the square of the ratio of the smallest to the largest distance between two points."""
    i, j = np.triu_indices(len(points), 1)
    squares = ((points[i] - points[j]) ** 2).sum(axis=1)
    return float(squares.min() / squares.max())


def polish(points: np.ndarray) -> np.ndarray:
    """Move points to a local minimum of their largest distance, keeping all distances at least 1."""
    n = len(points)
    i, j = np.triu_indices(n, 1)
    rows, cost = np.arange(len(i)), np.append(np.zeros(2 * n), 1)

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
    start, kept = np.append(spots, squares(spots).max()), {"type": "ineq", "fun": gaps, "jac": slopes}
    found = minimize(cost.dot, start, jac=lambda _: cost, constraints=kept, options={"ftol": 1e-12})
    return np.array(found.x[:-1].reshape(2, n).T)


def lay_disk(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points at random in a disk."""
    angle = 2 * np.pi * rng.random(n)
    return np.array(np.sqrt(rng.random((n, 1))) * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points on the n sites of a triangular lattice that are nearest to a random point."""
    across, up = np.indices((2 * n + 3, 2 * n + 3)).reshape(2, -1) - n - 1
    spots = np.stack([across + up / 2, np.sqrt(0.75) * up], axis=1) - rng.random(2)
    return np.array(spots[np.argsort((spots**2).sum(axis=1), kind="stable")[:n]])


def lay_rings(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points on up to three rings around one center."""
    inner = rng.integers(0, n // 3 + 1)
    ring = np.searchsorted([inner, inner + rng.integers(n // 4, n // 2 + 1)], np.arange(n), side="right")
    angle = 2 * np.pi * (rng.random(3)[ring] + np.arange(n) / np.bincount(ring, minlength=3)[ring])
    return np.array(np.array([0.3, 1, 2])[ring][:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def lay_turned(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points that half a turn maps onto themselves; if n is odd, one of them is in the middle."""
    spots = lay_disk(rng, n // 2)
    return np.concatenate([spots, -spots, np.zeros((n % 2, 2))])
