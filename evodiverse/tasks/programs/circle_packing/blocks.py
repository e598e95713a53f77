"""Building blocks of packing programs: functions that moves bring into a program, text and all.

They know how to improve circles wherever they are, and how to lay out any number of them; nothing of good packings.
"""

import numpy as np
from scipy.optimize import linprog, minimize


def polish(centers: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move and resize circles together to a local maximum of the sum of their radii."""
    n = len(radii)
    x, y = centers.T
    i, j = np.triu_indices(n, 1)
    near = np.hypot(x[i] - x[j], y[i] - y[j]) < 3 / np.sqrt(n)
    x, y, r = climb(np.stack([x, y, radii]), i[near], j[near])
    room = np.hypot(x[i] - x[j], y[i] - y[j]) - r[i] - r[j]
    if room.min(initial=0) < -1e-9:
        x, y, r = climb(np.stack([x, y, r]), i, j)
        room = np.hypot(x[i] - x[j], y[i] - y[j]) - r[i] - r[j]
    walls = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y)) - r
    return np.clip(np.stack([x, y], axis=1), 0, 1), np.maximum(
        r + min(room.min(initial=0) / 2, walls.min(initial=0)), 0
    )


def climb(circles: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Climb by SLSQP from rows x, y, r to a local maximum of the sum of r, the circles i and j kept apart."""
    n = circles.shape[1]
    one, zero, pair = np.eye(n), np.zeros((n, n)), np.arange(len(i))
    walls = np.block([[one, zero, -one], [zero, one, -one], [-one, zero, -one], [zero, -one, -one]])
    edges = np.repeat([0.0, 1.0], 2 * n)
    cost = np.repeat([0.0, -1.0], [2 * n, n])

    def gaps(z: np.ndarray) -> np.ndarray:
        x, y, r = z.reshape(3, n)
        apart = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 - (r[i] + r[j]) ** 2
        return np.concatenate([walls @ z + edges, apart])

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y, r = z.reshape(3, n)
        rows = np.zeros((len(i), 3 * n))
        for start, step, sign in [(0, x[i] - x[j], -1), (n, y[i] - y[j], -1), (2 * n, -r[i] - r[j], 1)]:
            rows[pair, start + i] = 2 * step
            rows[pair, start + j] = 2 * sign * step
        return np.concatenate([walls, rows])

    bounds = {"type": "ineq", "fun": gaps, "jac": slopes}
    found = minimize(cost.dot, circles.ravel(), jac=lambda _: cost, constraints=bounds, options={"ftol": 1e-10})
    return np.reshape(found.x, (3, n))


def fit_radii(centers: np.ndarray) -> np.ndarray:
    """Return the radii of the largest sum for given centers, by linear programming."""
    n = len(centers)
    i, j = np.triu_indices(n, 1)
    rows = np.eye(n)[i] + np.eye(n)[j]
    distances = np.sqrt(((centers[i] - centers[j]) ** 2).sum(axis=1))
    walls = np.minimum(centers, 1 - centers).min(axis=1)
    found = linprog(-np.ones(n), A_ub=rows, b_ub=distances, bounds=[(0, max(wall, 0)) for wall in walls])
    return np.array(found.x)


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n circles in rows of about equal numbers, every other row perhaps shifted as in a hexagonal packing."""
    n_rows = max(1, round(np.sqrt(n)) + rng.integers(-1, 3))
    cuts = n * (np.arange(1, n_rows) + rng.normal(0, 0.1, n_rows - 1)) / n_rows
    row = np.searchsorted(np.sort(cuts), np.arange(n))
    column = np.arange(n) - np.searchsorted(row, row)
    shift = rng.choice([0, 0.25, 0.5]) * (row % 2)
    return np.stack([(column + 0.5 + shift) / (np.bincount(row)[row] + 2 * shift), (row + 0.5) / n_rows], axis=1)


def lay_rings(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n circles on rings around the center of the square, drawn out towards its corners."""
    inner = rng.integers(1, max(2, n // 5))
    ring = np.searchsorted([inner, inner + rng.integers(n // 4, n // 2 + 1)], np.arange(n), side="right")
    angle = 2 * np.pi * (rng.random(3)[ring] + np.arange(n) / np.bincount(ring, minlength=3)[ring])
    spots = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corner = rng.random() / np.abs(spots).max(axis=1, keepdims=True)
    return np.array(0.5 + spots * (0.6 + 0.4 * corner) * np.array([0.1, 0.28, 0.42])[ring][:, None])
