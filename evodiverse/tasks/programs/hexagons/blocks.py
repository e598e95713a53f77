"""Building blocks of programs that pack hexagons: functions whose source the moves insert into a program.

They improve any placement of hexagons with sides of 1 and lay out any number of them. They know nothing about good
packings.

Shapes: ``hexagons`` and layouts ``(n, 3)`` with columns x, y and angle. A hexagon with the angle 0 has a corner to the
right of its center, as has the enclosing hexagon.
"""

import numpy as np
from scipy.optimize import minimize


def quality(hexagons: np.ndarray) -> float:
    """Return the negative side of the hexagon around hexagons, less a penalty for the deepest overlap."""
    i, j = np.triu_indices(len(hexagons), 1)
    least = gaps_between(hexagons, i, j).max(axis=1).min(initial=0)
    return float(1000 * least - find_side(hexagons))


def normals() -> np.ndarray:
    """Return the angles of the directions that are normal to the sides of a hexagon."""
    return np.array(np.pi * (2 * np.arange(6) + 1) / 6)


def support(angle: np.ndarray) -> np.ndarray:
    """Return how far a hexagon reaches from its center, in a direction at an angle to one of its corners."""
    return np.array(np.cos((angle + np.pi / 6) % (np.pi / 3) - np.pi / 6))


def find_side(hexagons: np.ndarray) -> float:
    """Return the side of the smallest hexagon, not turned, around hexagons."""
    x, y, angle = hexagons.T[:, :, None]
    reach = (x * np.cos(normals()) + y * np.sin(normals()) + support(normals() - angle)).max(axis=0)
    apothem = max((reach[:3] + reach[3:]).max() / 2, reach[::2].mean(), reach[1::2].mean())
    return float(2 * apothem / np.sqrt(3))


def gaps_between(hexagons: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return how far one of each pair is beyond each side of the other, as rows of 12: sides of i, then of j."""
    gaps = []
    for one, other in [(i, j), (j, i)]:
        step, axis = hexagons[other] - hexagons[one], hexagons[one, 2][:, None] + normals()
        apart = step[:, :1] * np.cos(axis) + step[:, 1:2] * np.sin(axis)
        gaps.append(apart - np.sqrt(3) / 2 - support(axis + np.pi - hexagons[other, 2][:, None]))
    return np.concatenate(gaps, axis=1)


def soften(hexagons: np.ndarray, room: float) -> np.ndarray:
    """Move hexagons into a hexagon of ``room**2`` times their total area; they can pass through each other."""
    n = len(hexagons)
    i, j = np.triu_indices(n, 1)
    right, up = np.cos(normals())[:, None], np.sin(normals())[:, None]

    def value_and_slope(z: np.ndarray) -> tuple[float, np.ndarray]:
        x, y, angle = z.reshape(3, n)
        gaps = gaps_between(z.reshape(3, n).T, i, j)
        best = gaps.argmax(axis=1)
        depth = np.maximum(-gaps.max(axis=1), 0)
        one, other = np.where(best < 6, i, j), np.where(best < 6, j, i)
        axis = angle[one] + normals()[best % 6]
        across, along = np.cos(axis), np.sin(axis)
        bend = np.sin((axis - angle[other] + np.pi / 6) % (np.pi / 3) - np.pi / 6)
        arm = (y[other] - y[one]) * across - (x[other] - x[one]) * along + bend
        out = np.maximum(right * x + up * y + support(normals()[:, None] - angle) - room * np.sqrt(3 * n / 4), 0)
        tilt = np.sin((normals()[:, None] - angle + np.pi / 6) % (np.pi / 3) - np.pi / 6)
        slope = np.stack([(out * right).sum(axis=0), (out * up).sum(axis=0), (out * tilt).sum(axis=0)])
        for row, mine, theirs in [(0, across, across), (1, along, along), (2, -arm, -bend)]:
            slope[row] += np.bincount(one, depth * mine, n) - np.bincount(other, depth * theirs, n)
        return (depth**2).sum() / 2 + (out**2).sum() / 2, slope.ravel()

    found = minimize(value_and_slope, hexagons.T.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 60})
    return np.array(found.x.reshape(3, n).T)


def polish(hexagons: np.ndarray) -> np.ndarray:
    """Move hexagons to a local minimum of the side of the hexagon around them, without any overlap."""
    side = find_side(hexagons)
    for _ in range(4):
        hexagons = climb(hexagons)
        before, side = side, find_side(hexagons)
        if abs(side - before) < 1e-10:
            break
    least = gaps_between(hexagons, *np.triu_indices(len(hexagons), 1)).max(axis=1).min(initial=0)
    return np.array(hexagons * [1 - least + 1e-14, 1 - least + 1e-14, 1])


def climb(hexagons: np.ndarray) -> np.ndarray:
    """Move hexagons so that a hexagon around (0, 0) becomes smaller, where every contact keeps its side and corner."""
    n = len(hexagons)
    one, other, turn, corner = find_contacts(hexagons)
    rows, is_wall = np.arange(len(one)), one == n
    cost = np.append(np.zeros(3 * n), 1)

    def gaps(z: np.ndarray) -> np.ndarray:
        x, y, angle = np.hstack([z[:-1].reshape(3, n), np.zeros((3, 1))])
        axis = angle[one] + turn
        apart = (x[other] - x[one]) * np.cos(axis) + (y[other] - y[one]) * np.sin(axis)
        return np.array(apart + np.cos(angle[other] + corner - axis) + np.where(is_wall, z[-1], -np.sqrt(3) / 2))

    def slopes(z: np.ndarray) -> np.ndarray:
        x, y, angle = np.hstack([z[:-1].reshape(3, n), np.zeros((3, 1))])
        axis = angle[one] + turn
        bend = np.sin(angle[other] + corner - axis)
        arm = (y[other] - y[one]) * np.cos(axis) - (x[other] - x[one]) * np.sin(axis) + bend
        table = np.zeros((len(one), 3, n + 1))
        for row, mine, theirs in [(0, np.cos(axis), np.cos(axis)), (1, np.sin(axis), np.sin(axis)), (2, -arm, -bend)]:
            table[rows, row, one] = -mine
            table[rows, row, other] = theirs
        return np.column_stack([table[:, :, :n].reshape(len(one), -1), is_wall])

    start, kept = np.append(hexagons.T, 0), {"type": "ineq", "fun": gaps, "jac": slopes}
    start[-1] = -gaps(start)[is_wall].min()
    found = minimize(cost.dot, start, jac=lambda _: cost, constraints=kept, options={"ftol": 1e-12, "maxiter": 60})
    return np.array(found.x[:-1].reshape(3, n).T)


def find_contacts(hexagons: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return who may touch whom: the owner of a side (n: the hexagon around all) and of a corner, and both angles."""
    n = len(hexagons)
    i, j = np.triu_indices(n, 1)
    gaps = gaps_between(hexagons, i, j)
    near = gaps.max(axis=1) < 1
    i, j, best = i[near], j[near], gaps[near].argmax(axis=1)
    inside, wall = np.divmod(np.arange(6 * n), 6)
    one = np.concatenate([np.where(best < 6, i, j), np.full(6 * n, n)])
    other = np.concatenate([np.where(best < 6, j, i), inside])
    turn = np.concatenate([normals()[best % 6], normals()[wall] + np.pi])
    facing = np.append(hexagons[:, 2], 0)[one] + turn + np.pi - hexagons[other, 2]
    corner = np.floor(facing / (np.pi / 3)) * np.pi / 3
    return np.tile(one, 2), np.tile(other, 2), np.tile(turn, 2), np.concatenate([corner, corner + np.pi / 3])


def lay_anywhere(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n hexagons at random in a disk, turned at random."""
    angle = 2 * np.pi * rng.random(n)
    radius = 0.85 * np.sqrt(n * rng.random(n))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), np.pi / 3 * rng.random(n)], axis=1)


def lay_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n hexagons side by side on the n sites of a lattice, turned at random, nearest to a random point."""
    across, up = np.indices((2 * n + 3, 2 * n + 3)).reshape(2, -1) - n - 1
    x, y = np.sqrt(3) * (across + up / 2 - rng.random()), 3 / 2 * (up - rng.random())
    kept = np.argsort(x**2 + y**2, kind="stable")[:n]
    angle = np.pi / 3 * rng.random()
    right, above = np.cos(angle) * x - np.sin(angle) * y, np.sin(angle) * x + np.cos(angle) * y
    return np.stack([right[kept], above[kept], np.full(n, angle + np.pi / 6)], axis=1)


def lay_turned(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n hexagons that a third of a turn maps onto each other, except for the last n % 3."""
    third = lay_anywhere(rng, n)[: n // 3]
    x, y, angle = third.T
    turns = [(np.cos(turn), np.sin(turn)) for turn in 2 * np.pi / 3 * np.arange(3)]
    laid = [np.stack([c * x - s * y, s * x + c * y, angle], axis=1) for c, s in turns]
    return np.concatenate([*laid, lay_anywhere(rng, n % 3)])
