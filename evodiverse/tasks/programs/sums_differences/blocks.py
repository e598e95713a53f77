"""Building blocks of programs that construct sets of integers: functions whose source the moves insert into a program.

They measure and improve sets of numbers with ``digits`` digits from 0 to ``cap`` that add up to at most ``total``. They
know nothing about good ones.
"""

import numpy as np
from scipy.special import comb


def quality(digits: int, cap: int, total: int) -> float:
    """Return how many more differences than sums such a set has, as the exponent of its largest element."""
    n_sums = counts(0, 2 * cap, 2 * total, digits)[-1]
    one_sign = counts(1, cap, total, digits)
    k = np.arange(digits + 1)
    n_differences = (comb(digits, k) * one_sign) @ (comb(digits - k[:, None], k) @ one_sign)
    return float((np.log(n_differences) - np.log(n_sums)) / (digits * np.log(2 * cap + 1)))


def counts(low: int, high: int, total: int, n: int) -> np.ndarray:
    """Return for 0 to n entries how many vectors of integers from low to high add up to at most the total."""
    ways, place = np.eye(total + 1)[0], np.arange(total + 1)
    found = [1.0]
    for _ in range(n):
        upto = np.append(0, np.cumsum(ways))
        ways = upto[np.maximum(place - low + 1, 0)] - upto[np.maximum(place - high, 0)]
        found.append(ways.sum())
    return np.array(found)


def climb(rng: np.random.Generator, digits: int, cap: int, total: int, tries: int) -> tuple[int, int, int]:
    """Change the digits, the cap and the total at random, and keep what is better."""
    best = digits, cap, total
    value = quality(*best)
    for _ in range(tries):
        size = rng.integers(1, 2 + np.array(best) // 4)
        steps = rng.integers(-size, size + 1)
        a, b, c = (max(1, int(old + step)) for old, step in zip(best, steps, strict=True))
        trial = min(a, 100), b, min(c, 200)
        if (new := quality(*trial)) > value:
            best, value = trial, new
    return best
