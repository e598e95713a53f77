"""Building blocks of programs that construct step functions: functions whose source the moves insert into a program.

They improve the heights of any step function for one of the three inequalities, and lay out any number of steps. They
know nothing about good ones.

Shapes: ``heights`` and layouts ``(n,)``, autoconvolutions ``(2 * n - 1,)``.
"""

import numpy as np
from scipy.optimize import linprog


def allowed(heights: np.ndarray, inequality: int) -> np.ndarray:
    """Return heights with the mean 1, of which none is below 0 except in inequality 3."""
    kept = heights if inequality == 3 else np.maximum(heights, 0)
    return np.array(kept / kept.mean() if kept.sum() > 0 else np.ones(len(kept)))


def quality(heights: np.ndarray, inequality: int) -> float:
    """Return what the inequality measures; larger is better."""
    kept = allowed(heights, inequality)
    values = np.convolve(kept, kept)
    if inequality == 2:
        return float((values @ values + values[1:] @ values[:-1] / 2) / (1.5 * len(kept) ** 2 * values.max()))
    return -2 * float(np.abs(values).max()) / len(kept)


def polish(heights: np.ndarray, inequality: int, rounds: int) -> np.ndarray:
    """Repeatedly improve the heights within a reach, with a linear model of the inequality, by linear programming.

    The reach grows as long as the model predicts the gain well, and shrinks if it does not.
    """
    kept, n, reach = allowed(heights, inequality), len(heights), 0.3
    total = np.append(np.ones(n), 0)[None]
    for _ in range(rounds):
        values = np.convolve(kept, kept)
        most = np.abs(values).max()
        high = np.flatnonzero(np.abs(values) > most * (1 - 2 * reach))
        signs = np.sign(values[high])[:, None]
        slopes = 2 * np.pad(kept, 2 * n)[2 * n + np.arange(2 * n - 1)[:, None] - np.arange(n)]
        cost = np.append(np.zeros(n), 1 / most)
        if inequality == 2:
            beside = 4 * values + np.append(values[1:], 0) + np.insert(values[:-1], 0, 0)
            cost[:n] = -(beside @ slopes) / (2 * values @ values + values[1:] @ values[:-1])
        rows = np.concatenate([signs * slopes[high], -np.ones((len(high), 1))], axis=1)
        least = -reach if inequality == 3 else np.maximum(-reach, -kept)
        limits = np.stack([np.append(least + np.zeros(n), 0), np.append(np.full(n, reach), 2 * most)], axis=1)
        room = -signs[:, 0] * values[high]
        found = linprog(cost, A_ub=rows, b_ub=room, A_eq=total, b_eq=[0], bounds=limits)
        if found.x is None:
            break
        trial = allowed(kept + found.x[:-1], inequality)
        gain = quality(trial, inequality) / quality(kept, inequality) - 1
        gain, hope = gain if inequality == 2 else -gain, 1 - float(cost @ found.x)
        kept = trial if gain > 0 else kept
        reach *= 2 if gain > hope / 2 else 0.5 if gain < hope / 10 else 1
        reach = min(reach, 0.5)
    return kept


def lay_noise(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n steps of random heights, some much larger than others, and a random share of them 0."""
    return np.array(rng.random(n) ** rng.integers(1, 4) * (rng.random(n) < rng.uniform(0.2, 1)))


def lay_waves(rng: np.random.Generator, n: int) -> np.ndarray:
    """Lay out n steps along a sum of a few waves with random heights and phases."""
    x = np.linspace(0, 2 * np.pi, n)[:, None]
    waves = np.arange(1, 7)
    return np.array(1 + (np.cos(x * waves + 2 * np.pi * rng.random(6)) * rng.normal(0, 1, 6) / waves).sum(axis=1))
