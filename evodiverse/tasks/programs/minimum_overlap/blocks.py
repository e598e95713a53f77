"""Building blocks of programs that construct step functions on [0, 2]: functions whose source the moves insert.

They improve the heights of any step function, and lay out any number of steps. They know nothing about good ones.

Shapes: ``heights`` and layouts ``(n,)``, overlaps ``(2 * n - 1,)``.
"""

import numpy as np
from scipy.optimize import linprog


def inside(heights: np.ndarray) -> np.ndarray:
    """Return heights from 0 to 1 that average 1/2: multiply them by a factor, or their distances to 1."""
    kept = np.clip(heights, 0, 1)
    mean = kept.mean()
    return np.array(kept / (2 * mean) if mean > 0.5 else 1 - (1 - kept) / (2 - 2 * mean))


def quality(heights: np.ndarray) -> float:
    """Return the negative of the largest overlap of the function with its complement."""
    kept = inside(heights)
    return -2 * float(np.correlate(kept, 1 - kept, "full").max()) / len(kept)


def polish(heights: np.ndarray, rounds: int) -> np.ndarray:
    """Repeatedly minimize the largest of the linearized overlaps within a reach, by linear programming.

    The reach grows as long as the linear model predicts the gain well, and shrinks if it does not.
    """
    kept, n, reach = inside(heights), len(heights), 0.1
    cost, total = np.append(np.zeros(n), 1), np.append(np.ones(n), 0)[None]
    for _ in range(rounds):
        overlaps = np.correlate(kept, 1 - kept, "full")
        near = np.flatnonzero(overlaps > overlaps.max() - reach * n / 8)
        ours, theirs = np.pad(kept, n), np.pad(1 - kept, n)
        shift, place = near[:, None] - n + 1, np.arange(n) + n
        slopes = theirs[place - shift] - ours[place + shift]
        rows = np.concatenate([slopes, -np.ones((len(near), 1))], axis=1)
        low, high = np.append(np.maximum(-reach, -kept), 0), np.append(np.minimum(reach, 1 - kept), n)
        limits = np.stack([low, high], axis=1)
        found = linprog(cost, A_ub=rows, b_ub=-overlaps[near], A_eq=total, b_eq=[0], bounds=limits)
        if found.x is None:
            break
        trial = inside(kept + found.x[:-1])
        gain, hope = (quality(trial) - quality(kept)) * n / 2, overlaps.max() - found.x[-1]
        kept = trial if gain > 0 else kept
        reach *= 2 if gain > hope / 2 else 0.5 if gain < hope / 10 else 1
    return kept


def lay_waves(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n steps along a symmetric sum of a few waves with random heights."""
    x = np.abs(np.arange(n) + 0.5 - n / 2)[:, None] * 2 * np.pi / n
    waves = np.arange(1, 7)
    return inside(0.5 + (np.cos(x * waves) * rng.normal(0, 1, 6) / waves).sum(axis=1))


def lay_noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n steps of random heights."""
    return inside(rng.random(n))
