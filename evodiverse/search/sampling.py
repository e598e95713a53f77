"""Weighted draws. Weights are given as logarithms, so that powers of scores neither under- nor overflow."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def sample_without_replacement(log_weights: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw distinct indices one after the other, each with probability proportional to its weight among those left.

    Adding independent Gumbel noise to the log-weights and taking the largest sums has the same distribution as
    successive draws (Gumbel top-k).

    Args:
        log_weights: ``(n,)`` log-weights, up to a common constant. An index with -inf is drawn only if no other is
            left.
        size: How many indices to draw, capped at ``n``.
        rng: The generator, which draws ``n`` numbers for any ``size``.

    Returns:
        ``(min(size, n),)`` indices in the order drawn.

    Raises:
        ValueError: A log-weight is NaN or +inf.
    """
    _check_log_weights(log_weights)
    keys = log_weights + rng.gumbel(size=log_weights.size)
    return np.argsort(-keys, kind="stable")[:size]


def sample_with_replacement(log_weights: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Draw indices independently with probability proportional to their weights.

    Args:
        log_weights: ``(n,)`` log-weights with n ≥ 1, up to a common constant, not all -inf.
        size: How many indices to draw.
        rng: The generator, which draws ``size`` numbers.

    Returns:
        ``(size,)`` indices in the order drawn.

    Raises:
        ValueError: A log-weight is NaN or +inf, or none is finite.
    """
    _check_log_weights(log_weights)
    peak = log_weights.max()
    if peak == -np.inf:
        raise ValueError("no weight is positive")
    cumulative = np.cumsum(np.exp(log_weights - peak))
    indices: IntArray = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return indices


def draw_distinct(items: IntArray, count: int, rng: np.random.Generator) -> list[int]:
    """Draw different values from a list in which values may repeat.

    Each draw is uniform over the entries that differ from the values drawn before.

    Args:
        items: ``(n,)`` values.
        count: How many values to draw. If there are fewer different values, all of them are drawn.
        rng: The generator, which draws one permutation of all entries.

    Returns:
        The values in the order drawn.
    """
    return list(dict.fromkeys(rng.permutation(items).tolist()))[:count]


def _check_log_weights(log_weights: FloatArray) -> None:
    if np.isnan(log_weights).any() or (log_weights == np.inf).any():
        raise ValueError("log-weights must be finite or -inf")
