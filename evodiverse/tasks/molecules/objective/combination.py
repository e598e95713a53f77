"""Ways to combine the scores of several components into one."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def arithmetic_mean(scores: Values, weights: Values) -> Values:
    """Return the weighted arithmetic means of rows.

    Args:
        scores: ``(n, k)`` scores from 0 to 1.
        weights: ``(k,)`` weights above 0.

    Returns:
        ``(n,)`` combined scores.
    """
    means: Values = scores @ (weights / weights.sum())
    return means


def geometric_mean(scores: Values, weights: Values) -> Values:
    """Return the weighted geometric means of rows, 0 where any score is 0; shapes are those of `arithmetic_mean`."""
    return product(scores, weights / weights.sum())


def product(scores: Values, weights: Values) -> Values:
    """Return for each row the product of its scores, each raised to the power of its weight.

    Shapes are those of `arithmetic_mean`.
    """
    products: Values = np.prod(scores**weights, axis=1)
    return products


COMBINATIONS: Final[Mapping[str, Callable[[Values, Values], Values]]] = MappingProxyType(
    {"arithmetic_mean": arithmetic_mean, "geometric_mean": geometric_mean, "product": product}
)
