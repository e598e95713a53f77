"""Pack N circles into the unit square so that the sum of their radii is as large as possible."""

import numpy as np
from scipy.optimize import minimize

N = 26
INNER_SHARE = 0.32
INNER_RADIUS = 0.1
OUTER_RADIUS = 0.2


def construct_packing() -> tuple[np.ndarray, np.ndarray, float]:
    """Place one circle at the center and the others on two rings around it.

    Returns:
        Centers of shape (N, 2), radii of shape (N,), and the sum of the radii.
    """
    n_inner = round(INNER_SHARE * (N - 1))
    n_outer = N - 1 - n_inner
    centers = np.full((N, 2), 0.5)
    index = 1
    for count, ring_radius in [(n_inner, INNER_RADIUS), (n_outer, OUTER_RADIUS)]:
        for step in range(count):
            angle = 2 * np.pi * step / count
            centers[index, 0] += ring_radius * np.cos(angle)
            centers[index, 1] += ring_radius * np.sin(angle)
            index += 1
    radii = compute_radii(centers)
    rng = np.random.default_rng(0)
    for _ in range(8):
        spots = lay_rows(rng, len(centers)) + rng.normal(0, 0.05, centers.shape)
        trial = polish(*soften(np.clip(spots, 0.02, 0.98), 0 * radii + 0.06, 0.3))
        if trial[1].sum() > radii.sum():
            centers, radii = trial
    return (centers, radii, float(np.sum(radii)))


def compute_radii(centers: np.ndarray) -> np.ndarray:
    """Let each circle grow to the nearest wall, but not beyond half the distance to its nearest neighbor."""
    radii = np.zeros(len(centers))
    for i in range(len(centers)):
        x, y = centers[i]
        radii[i] = min(x, y, 1 - x, 1 - y)
        for j in range(len(centers)):
            if j != i:
                distance = np.sqrt(np.sum((centers[i] - centers[j]) ** 2))
                radii[i] = min(radii[i], distance / 2)
    return radii


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n circles in rows of similar length; every other row may be shifted, as in a hexagonal packing."""
    n_rows = max(1, round(np.sqrt(n)) + rng.integers(-1, 3))
    cuts = n * (np.arange(1, n_rows) + rng.normal(0, 0.1, n_rows - 1)) / n_rows
    row = np.searchsorted(np.sort(cuts), np.arange(n))
    column = np.arange(n) - np.searchsorted(row, row)
    shift = rng.choice([0, 0.25, 0.5]) * (row % 2)
    return np.stack([(column + 0.5 + shift) / (np.bincount(row)[row] + 2 * shift), (row + 0.5) / n_rows], axis=1)


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
        if least > -1e-09:
            break
    return (np.clip(np.stack([x, y], axis=1), 0, 1), np.maximum(r + least, 0))


def soften(centers: np.ndarray, radii: np.ndarray, stiffness: float) -> tuple[np.ndarray, np.ndarray]:
    """Move and resize circles to an optimum where overlaps cost a penalty, so that they can pass through each other."""
    n = len(radii)
    price = 2 * stiffness * np.sqrt(n)

    def value_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y, r = z.reshape(3, n)
        right, up = (x[:, None] - x, y[:, None] - y)
        distances = np.sqrt(right**2 + up**2) + 1e-09 + 9 * np.eye(n)
        into = np.maximum(r[:, None] + r - distances, 0)
        out = np.maximum([r - x, x + r - 1, r - y, y + r - 1], 0)
        push = into / distances
        slope_x = out[1] - out[0] - (push * right).sum(axis=1)
        slope_y = out[3] - out[2] - (push * up).sum(axis=1)
        slope_r = into.sum(axis=1) + out.sum(axis=0) - 1 / price
        value = (into**2).sum() / 4 + (out**2).sum() / 2 - r.sum() / price
        return (price * value, price * np.concatenate([slope_x, slope_y, slope_r]))

    start = np.concatenate([*centers.T, radii])
    x, y, r = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x.reshape(3, n)
    return (np.stack([x, y], axis=1), r)


def climb(circles: np.ndarray, i: np.ndarray, j: np.ndarray, reach: float) -> np.ndarray:
    """Climb from rows x, y, r to a local maximum of sum(r); pairs i, j stay apart, circles inside any wall in reach."""
    n = circles.shape[1]
    one, zero, pair = (np.eye(n), np.zeros((n, n)), np.arange(len(i)))
    walls = np.block([[one, zero, -one], [zero, one, -one], [-one, zero, -one], [zero, -one, -one]])
    edges = np.repeat([0.0, 1.0], 2 * n)
    near = walls @ circles.ravel() + edges < reach
    walls, edges = (walls[near], edges[near])
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
