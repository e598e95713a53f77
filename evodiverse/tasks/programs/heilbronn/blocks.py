"""Building blocks of programs that place points in a triangle: functions whose source the moves insert into a program.

They improve the points of any placement and lay out any number of points. They know nothing about good placements.

Shapes: ``points`` and layouts ``(n, 2)``, and the indices of triangles ``(3, n_triangles)``.
"""

import numpy as np
from scipy.optimize import minimize


def quality(points: np.ndarray) -> float:
    """Return twice the area of the smallest triangle that three points form."""
    (i, j, k), (x, y) = triples(len(points)), points.T
    return float(np.abs((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i])).min())


def triples(n: int) -> np.ndarray:
    """Return the indices i < j < k of all triangles, as three rows."""
    i, j, k = np.indices((n, n, n)).reshape(3, -1)
    return np.stack([i, j, k])[:, (i < j) & (j < k)]


def inside(points: np.ndarray) -> np.ndarray:
    """Move points into the triangle; those beyond its long side move toward the corner (0, 0)."""
    points = np.maximum(points, 0)
    return np.array(points / np.maximum((1 + 1e-15) * points.sum(axis=1, keepdims=True), 1))


def soften(points: np.ndarray, width: float) -> np.ndarray:
    """Move points so that few triangles are smaller than about ``width``; at a penalty, triangles may flip over."""
    n = len(points)
    i, j, k = triples(n)

    def price_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = z.reshape(2, n)
        areas = ((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i])) / width
        prices, outside = np.exp(-(areas**2) / 2), np.maximum(x + y - 1, 0)
        push, slope = -areas * prices / width, 1000 * np.stack([outside, outside])
        for one, left, right in [(i, j, k), (j, k, i), (k, i, j)]:
            slope[0] += np.bincount(one, push * (y[left] - y[right]), n)
            slope[1] += np.bincount(one, push * (x[right] - x[left]), n)
        return prices.sum() + 500 * (outside**2).sum(), slope.ravel()

    start, bounds = points.T.ravel(), [(0, 1)] * (2 * n)
    found = minimize(price_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 60})
    return inside(found.x.reshape(2, n).T)


def polish(points: np.ndarray) -> np.ndarray:
    """Move points to a local maximum of the area of the smallest triangle, keeping the orientation of each."""
    n = len(points)
    i, j, k = triples(n)
    rows, cost = np.arange(len(i)), np.append(np.zeros(2 * n), -1)
    side = -np.hstack([np.eye(n), np.eye(n), np.zeros((n, 1))])

    def areas(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i]))

    signs = np.where(areas(*points.T) < 0, -1, 1)

    def gaps(z: np.ndarray) -> np.ndarray:
        return np.concatenate([signs * areas(*z[:-1].reshape(2, n)) - z[-1], 1 + side @ z])

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y = z[:-1].reshape(2, n)
        turns = np.zeros((len(i), 2 * n + 1)) - (np.arange(2 * n + 1) == 2 * n)
        for one, left, right in [(i, j, k), (j, k, i), (k, i, j)]:
            turns[rows, one] = signs * (y[left] - y[right])
            turns[rows, n + one] = signs * (x[right] - x[left])
        return np.concatenate([turns, side])

    kept = {"type": "ineq", "fun": gaps, "jac": slopes}
    start, bounds = np.append(points.T, quality(points)), [(0, 1)] * (2 * n + 1)
    found = minimize(cost.dot, start, jac=lambda _: cost, bounds=bounds, constraints=kept, options={"ftol": 1e-12})
    return inside(found.x[:-1].reshape(2, n).T)


def lay_anywhere(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points at random in the triangle."""
    return np.array(rng.dirichlet([1, 1, 1], n)[:, :2])


def lay_turned(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points that a third of a turn of the triangle maps onto themselves, except for the last n % 3."""
    shares = rng.dirichlet([1, 1, 1], n // 3)
    turns = [np.roll(shares, turn, axis=1)[:, :2] for turn in range(3)]
    return np.concatenate([*turns, lay_anywhere(rng, n % 3)])


def lay_mirrored(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points that swapping x and y maps onto themselves, with up to four points on the axis x = y."""
    on_axis = n % 2 + 2 * int(rng.integers(0, min(2, n // 2) + 1))
    axis = rng.random((on_axis, 1)) / 2
    points = lay_anywhere(rng, (n - on_axis) // 2)
    return np.concatenate([points, points[:, ::-1], np.hstack([axis, axis])])
