"""Building blocks of packing programs: functions whose source the moves insert into a program.

They improve the circles of any placement and lay out any number of circles. They know nothing about good packings.

Shapes: ``centers`` and layouts ``(n, 2)``, ``radii`` ``(n,)``, ``circles`` ``(3, n)`` with rows x, y, r, and the
indices ``i`` and ``j`` of pairs ``(k,)``.
"""

import numpy as np
from scipy.optimize import linprog, minimize


def soften(centers: np.ndarray, radii: np.ndarray, stiffness: float) -> tuple[np.ndarray, np.ndarray]:
    """Move and resize circles to an optimum where overlaps cost a penalty, so that they can pass through each other."""
    n = len(radii)
    price = 2 * stiffness * np.sqrt(n)

    def value_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y, r = z.reshape(3, n)
        right, up = x[:, None] - x, y[:, None] - y
        distances = np.sqrt(right**2 + up**2) + 1e-9 + 9 * np.eye(n)
        into = np.maximum(r[:, None] + r - distances, 0)
        out = np.maximum([r - x, x + r - 1, r - y, y + r - 1], 0)
        push = into / distances
        slope_x = out[1] - out[0] - (push * right).sum(axis=1)
        slope_y = out[3] - out[2] - (push * up).sum(axis=1)
        slope_r = into.sum(axis=1) + out.sum(axis=0) - 1 / price
        value = (into**2).sum() / 4 + (out**2).sum() / 2 - r.sum() / price
        return price * value, price * np.concatenate([slope_x, slope_y, slope_r])

    start = np.concatenate([*centers.T, radii])
    x, y, r = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x.reshape(3, n)
    return np.stack([x, y], axis=1), r


def polish(centers: np.ndarray, radii: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move and resize circles together to a local maximum of the sum of their radii, without any overlap."""
    i, j = np.triu_indices(len(radii), 1)
    circles = np.stack([*centers.T, radii])
    for reach in (0.6 / np.sqrt(len(radii)), 9):
        near = np.hypot(*(centers[i] - centers[j]).T) - radii[i] - radii[j] < reach
        x, y, r = climb(circles, i[near], j[near], 2.5 * reach)
        room = np.hypot(x[i] - x[j], y[i] - y[j]) - r[i] - r[j]
        walls = np.minimum(np.minimum(x, 1 - x), np.minimum(y, 1 - y)) - r
        least = min(room.min(initial=0) / 2, walls.min(initial=0))
        if least > -1e-9:
            break
    return np.clip(np.stack([x, y], axis=1), 0, 1), np.maximum(r + least, 0)


def climb(circles: np.ndarray, i: np.ndarray, j: np.ndarray, reach: float) -> np.ndarray:
    """Climb from rows x, y, r to a local maximum of sum(r); pairs i, j stay apart, circles inside any wall in reach."""
    n = circles.shape[1]
    one, zero, pair = np.eye(n), np.zeros((n, n)), np.arange(len(i))
    walls = np.block([[one, zero, -one], [zero, one, -one], [-one, zero, -one], [zero, -one, -one]])
    edges = np.repeat([0.0, 1.0], 2 * n)
    near = walls @ circles.ravel() + edges < reach
    walls, edges = walls[near], edges[near]
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
    """Return the radii with the largest sum for the given centers, by linear programming."""
    n = len(centers)
    i, j = np.triu_indices(n, 1)
    rows = np.eye(n)[i] + np.eye(n)[j]
    distances = np.sqrt(((centers[i] - centers[j]) ** 2).sum(axis=1))
    walls = np.minimum(centers, 1 - centers).min(axis=1)
    found = linprog(-np.ones(n), A_ub=rows, b_ub=distances, bounds=[(0, max(wall, 0)) for wall in walls])
    return np.array(found.x)


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n circles in rows of similar length; every other row may be shifted, as in a hexagonal packing."""
    n_rows = max(1, round(np.sqrt(n)) + rng.integers(-1, 3))
    cuts = n * (np.arange(1, n_rows) + rng.normal(0, 0.1, n_rows - 1)) / n_rows
    row = np.searchsorted(np.sort(cuts), np.arange(n))
    column = np.arange(n) - np.searchsorted(row, row)
    shift = rng.choice([0, 0.25, 0.5]) * (row % 2)
    return np.stack([(column + 0.5 + shift) / (np.bincount(row)[row] + 2 * shift), (row + 0.5) / n_rows], axis=1)


def lay_rings(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n circles on rings around the center of the square, stretched toward its corners."""
    inner = rng.integers(1, max(2, n // 5))
    ring = np.searchsorted([inner, inner + rng.integers(n // 4, n // 2 + 1)], np.arange(n), side="right")
    angle = 2 * np.pi * (rng.random(3)[ring] + np.arange(n) / np.bincount(ring, minlength=3)[ring])
    spots = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    corner = rng.random() / np.abs(spots).max(axis=1, keepdims=True)
    return np.array(0.5 + spots * (0.6 + 0.4 * corner) * np.array([0.1, 0.28, 0.42])[ring][:, None])
