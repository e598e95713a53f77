"""Building blocks of programs that place points in a convex region: functions whose source the moves insert.

They improve any placement of points and lay out any number of points. They know nothing about good placements.

Shapes: ``points`` and layouts ``(n, 2)``, and the indices of triangles ``(3, n_triangles)``.
"""

import numpy as np
from scipy.optimize import minimize


def quality(points: np.ndarray) -> float:
    """Return the area of the smallest triangle as a share of the convex hull's area."""
    return float(np.abs(find_areas(points, triples(len(points)))).min() / find_areas(points, find_edges(points)).sum())


def triples(n: int) -> np.ndarray:
    """Return the indices i < j < k of all triangles, as three rows."""
    i, j, k = np.indices((n, n, n)).reshape(3, -1)
    return np.stack([i, j, k])[:, (i < j) & (j < k)]


def find_areas(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Return twice the area of each triangle, below 0 where the corners are in clockwise order."""
    (x, y), (i, j, k) = points.T, corners
    return np.array((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i]))


def find_edges(points: np.ndarray) -> np.ndarray:
    """Return the triangles of one corner of the convex hull and each edge of the hull, counterclockwise."""
    i, j, k = np.indices((len(points),) * 3)
    right = find_areas(points, np.stack([i, j, k]).reshape(3, -1)).reshape(i.shape) <= 0
    one, other = np.nonzero((right.sum(axis=2) == 2) & (i[:, :, 0] != j[:, :, 0]))
    return np.stack([np.full(len(one), one[0]), one, other])


def round_out(points: np.ndarray) -> np.ndarray:
    """Stretch points so that they fill the unit disk, which changes no share of the area."""
    points = points - points.mean(axis=0)
    sizes, axes = np.linalg.eigh(points.T @ points)
    points = points @ axes / np.sqrt(sizes)
    return np.array(points / np.sqrt((points**2).sum(axis=1).max()))


def soften(points: np.ndarray, width: float) -> np.ndarray:
    """Move points in the unit disk so that few triangles are smaller than about ``width``; triangles may flip over."""
    n = len(points)
    i, j, k = triples(n)

    def price_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y = z.reshape(2, n)
        areas = ((x[j] - x[i]) * (y[k] - y[i]) - (x[k] - x[i]) * (y[j] - y[i])) / width
        prices, outside = np.exp(-(areas**2) / 2), np.maximum(x**2 + y**2 - 1, 0)
        push, slope = -areas * prices / width, 200 * np.stack([outside * x, outside * y])
        for one, left, right in [(i, j, k), (j, k, i), (k, i, j)]:
            slope[0] += np.bincount(one, push * (y[left] - y[right]), n)
            slope[1] += np.bincount(one, push * (x[right] - x[left]), n)
        return prices.sum() + 50 * (outside**2).sum(), slope.ravel()

    found = minimize(price_and_slope, points.T.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    return np.array(found.x.reshape(2, n).T)


def polish(points: np.ndarray, share: float = 0.4) -> np.ndarray:
    """Move points to a local maximum of the smallest share of the hull, keeping the orientation of each triangle.

    Only the smallest triangles are watched at first, a ``share`` of all; if another one becomes smaller, all are.
    """
    points = round_out(points)
    corners, edges = triples(len(points)), find_edges(points)
    points /= np.sqrt(find_areas(points, edges).sum())
    areas = find_areas(points, corners)
    near = np.abs(areas) <= np.quantile(np.abs(areas), share)
    moved, least = climb(points, corners[:, near], np.where(areas[near] < 0, -1, 1), edges)
    return moved if share == 1 or quality(moved) > least - 1e-9 else polish(points, 1)


def climb(points: np.ndarray, corners: np.ndarray, signs: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, float]:
    """Enlarge the smallest of some triangles, within a hull of twice the area 1; return the points and that size."""
    n = len(points)
    rows, cost = np.arange(corners.shape[1] + edges.shape[1]), np.append(np.zeros(2 * n), -1)
    i, j, k = np.hstack([corners, edges])
    signs = np.append(signs, -np.ones(edges.shape[1]))

    def gaps(z: np.ndarray) -> np.ndarray:
        areas = signs * find_areas(z[:-1].reshape(2, n).T, np.stack([i, j, k]))
        return np.append(areas[: corners.shape[1]] - z[-1], 1 + areas[corners.shape[1] :].sum())

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y = z[:-1].reshape(2, n)
        turns = np.zeros((len(rows), 2 * n + 1)) - (np.arange(2 * n + 1) == 2 * n)
        for one, left, right in [(i, j, k), (j, k, i), (k, i, j)]:
            turns[rows, one] += signs * (y[left] - y[right])
            turns[rows, n + one] += signs * (x[right] - x[left])
        whole = turns[corners.shape[1] :].sum(axis=0) * (np.arange(2 * n + 1) < 2 * n)
        return np.vstack([turns[: corners.shape[1]], whole])

    kept = {"type": "ineq", "fun": gaps, "jac": slopes}
    start = np.append(points.T, np.abs(find_areas(points, corners)).min())
    found = minimize(cost.dot, start, jac=lambda _: cost, constraints=kept, options={"ftol": 1e-14})
    return found.x[:-1].reshape(2, n).T, float(found.x[-1])


def flip(rng: np.random.Generator, points: np.ndarray, count: int) -> np.ndarray:
    """Turn over a few of the smallest triangles, one after another: a corner moves across the line of the others."""
    points, corners = points.copy(), triples(len(points))
    for _ in range(count):
        order = np.abs(find_areas(points, corners)).argsort()
        a, b, c = rng.permutation(corners[:, order[rng.integers(min(3 * len(points), len(order)))]])
        right, up = points[b] - points[a]
        ahead = np.array([-up, right])
        points[c] -= 2 * ahead * (ahead @ (points[c] - points[a])) / (ahead @ ahead)
    return points


def lay_anywhere(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points at random in the unit disk."""
    angle = 2 * np.pi * rng.random(n)
    return np.array(np.sqrt(rng.random((n, 1))) * np.stack([np.cos(angle), np.sin(angle)], axis=1))


def lay_ringed(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points, half of them or more on the unit circle, almost evenly, and the others at random inside."""
    ring = int(rng.integers(n // 2, n))
    angle = 2 * np.pi * (np.arange(ring) + rng.normal(0, 0.1, ring)) / ring
    return np.concatenate([np.stack([np.cos(angle), np.sin(angle)], axis=1), 0.8 * lay_anywhere(rng, n - ring)])


def lay_turned(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points that a part of a turn maps onto each other, half to a sixth, except for the last few."""
    parts = int(rng.integers(2, 7))
    laid = np.exp(2j * np.pi * np.arange(parts) / parts)[:, None] * (lay_anywhere(rng, n // parts) @ [1, 1j])
    return np.concatenate([np.stack([laid.real.ravel(), laid.imag.ravel()], axis=1), lay_anywhere(rng, n % parts) / 4])


def lay_mirrored(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n points that a reflection maps onto themselves, with up to four points on its axis."""
    on_axis = n % 2 + 2 * int(rng.integers(0, min(2, n // 2) + 1))
    spots = lay_anywhere(rng, (n - on_axis) // 2)
    return np.concatenate([spots, spots * [1, -1], np.stack([2 * rng.random(on_axis) - 1, np.zeros(on_axis)], axis=1)])
