"""Building blocks of programs that pack circles into a rectangle: functions whose source the moves insert.

They improve any placement of circles and lay out any number of circles. They know nothing about good packings.

Shapes: ``circles`` and layouts ``(n, 3)`` with columns x, y, r, and the indices ``i`` and ``j`` of pairs ``(k,)``. The
rectangle has a corner at (0, 0) and perimeter 4; its width is free.
"""

import numpy as np
from scipy.optimize import minimize


def quality(circles: np.ndarray) -> float:
    """Return the sum of radii in a rectangle of perimeter 4."""
    return float(fit(circles)[:, 2].sum())


def fit(circles: np.ndarray) -> np.ndarray:
    """Move and scale circles so that the rectangle around them has a corner at (0, 0) and perimeter 4."""
    x, y, r = circles.T
    low_x, low_y = (x - r).min(), (y - r).min()
    return np.array(2 * (circles - [low_x, low_y, 0]) / ((x + r).max() - low_x + (y + r).max() - low_y))


def soften(circles: np.ndarray, stiffness: float) -> np.ndarray:
    """Move and resize circles to an optimum where overlaps cost a penalty, so that they can pass through each other."""
    n = len(circles)
    price = 2 * stiffness * np.sqrt(n)

    def value_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        (x, y, r), width = z[:-1].reshape(3, n), z[-1]
        right, up = x[:, None] - x, y[:, None] - y
        distances = np.sqrt(right**2 + up**2) + 1e-9 + 9 * np.eye(n)
        into = np.maximum(r[:, None] + r - distances, 0)
        out = np.maximum([r - x, x + r - width, r - y, y + r + width - 2], 0)
        push = into / distances
        slope_x = out[1] - out[0] - (push * right).sum(axis=1)
        slope_y = out[3] - out[2] - (push * up).sum(axis=1)
        slope_r = into.sum(axis=1) + out.sum(axis=0) - 1 / price
        value = (into**2).sum() / 4 + (out**2).sum() / 2 - r.sum() / price
        return price * value, price * np.concatenate([slope_x, slope_y, slope_r, [out[3].sum() - out[1].sum()]])

    x, y, r = fit(circles).T
    start = np.concatenate([x, y, r, [(x + r).max()]])
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x[:-1]
    return np.array(found.reshape(3, n).T)


def polish(circles: np.ndarray) -> np.ndarray:
    """Move and resize circles together to a local maximum of the sum of their radii, without any overlap."""
    n = len(circles)
    i, j = np.triu_indices(n, 1)
    circles = fit(np.column_stack([circles[:, :2], np.maximum(circles[:, 2], 0)]))
    for reach in (1 / np.sqrt(4 * n), 9):
        x, y, r = circles.T
        near = np.hypot(x[i] - x[j], y[i] - y[j]) - r[i] - r[j] < reach
        x, y, r = climb(circles, i[near], j[near], 2.4 * reach)
        circles = np.stack([x, y, np.maximum(r, 0)], axis=1)
        least = (np.hypot(x[i] - x[j], y[i] - y[j]) - circles[i, 2] - circles[j, 2]).min(initial=0)
        if least > -1e-9:
            break
    circles[:, 2] = np.maximum(circles[:, 2] + least - 1e-15, 0)
    return circles


def climb(circles: np.ndarray, i: np.ndarray, j: np.ndarray, reach: float) -> np.ndarray:
    """Climb from circles to rows x, y, r with a larger sum(r); pairs i, j stay apart, circles inside walls in reach."""
    n = len(circles)
    one, zero, pair = np.eye(n), np.zeros((n, n)), np.arange(len(i))
    walls = np.block([[one, zero, -one], [zero, one, -one], [-one, zero, -one], [zero, -one, -one]])
    walls = np.hstack([walls, np.repeat([[0], [0], [1], [-1]], n, axis=0)])
    edges = np.repeat([0, 0, 0, 2], n)
    start = np.append(circles.T, (circles[:, 0] + circles[:, 2]).max())
    near = walls @ start + edges < reach
    walls, edges = walls[near], edges[near]
    cost = np.repeat([0.0, -1, 0], [2 * n, n, 1])

    def gaps(z: np.ndarray) -> np.ndarray:
        x, y, r = z[:-1].reshape(3, n)
        apart = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 - (r[i] + r[j]) ** 2
        return np.concatenate([walls @ z + edges, apart])

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y, r = z[:-1].reshape(3, n)
        rows = np.zeros((len(i), 3 * n + 1))
        for first, step, sign in [(0, x[i] - x[j], -1), (n, y[i] - y[j], -1), (2 * n, -r[i] - r[j], 1)]:
            rows[pair, first + i] = 2 * step
            rows[pair, first + j] = 2 * sign * step
        return np.concatenate([walls, rows])

    kept = {"type": "ineq", "fun": gaps, "jac": slopes}
    found = minimize(cost.dot, start, jac=lambda _: cost, constraints=kept, options={"ftol": 1e-12})
    return np.array(found.x[:-1].reshape(3, n))


def lay_anywhere(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n small circles at random in a rectangle."""
    height = rng.uniform(0.5, 1)
    return np.column_stack([rng.random((n, 2)) * [2 - height, height], np.full(n, 0.2 / np.sqrt(n))])


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n small circles in rows of similar length; every other row may be shifted, as in a hexagonal packing."""
    height = rng.uniform(0.5, 1)
    n_rows = max(1, round(np.sqrt(n * height / (2 - height))) + rng.integers(-1, 2))
    cuts = n * (np.arange(1, n_rows) + rng.normal(0, 0.1, n_rows - 1)) / n_rows
    row = np.searchsorted(np.sort(cuts), np.arange(n))
    column = np.arange(n) - np.searchsorted(row, row)
    shift = rng.integers(0, 3) / 4 * (row % 2)
    x = (2 - height) * (column + 1 / 2 + shift) / (np.bincount(row)[row] + 2 * shift)
    return np.stack([x, height * (row + 1 / 2) / n_rows, np.full(n, 0.2 / np.sqrt(n))], axis=1)
