"""Transforms from raw values to scores from 0 to 1, named as in GuacaMol (Brown et al. 2019) and MolScore; means."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, log
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.kit.documented import setting

Values = NDArray[np.float64]
Transform = Callable[[Values], Values]
"""Maps ``(n,)`` raw values to ``(n,)`` scores; NaN stays NaN."""

_FINITE: Final[dict[str, Any]] = {"above": -inf, "below": inf}
_POSITIVE: Final[dict[str, Any]] = {"above": 0, "below": inf}


def _logistic(half: Values) -> Values:
    """Return the logistic function of twice the values; unlike an exponential, the tangent does not overflow."""
    return 0.5 + 0.5 * np.tanh(half)


@dataclass
class Gaussian:
    """A score of 1 at ``mu`` that falls on both sides: exp(-((x - mu) / sigma)² / 2).

    Attributes:
        mu: the best value
        sigma: distance from the best value at which the score is 0.61
    """

    mu: float = setting(**_FINITE)
    sigma: float = setting(**_POSITIVE)

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        return np.exp(-0.5 * ((raw - self.mu) / self.sigma) ** 2)


@dataclass
class MinGaussian(Gaussian):
    """A score that is 1 up to ``mu`` and falls off as a Gaussian above it: smaller is better."""

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        return super().__call__(np.maximum(raw, self.mu))


@dataclass
class MaxGaussian(Gaussian):
    """A score that is 1 at and above ``mu`` and falls off as a Gaussian below it: larger is better."""

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        return super().__call__(np.minimum(raw, self.mu))


@dataclass
class Linear:
    """A straight line from 0 at ``low`` to 1 at ``high``, clipped outside; ``low`` may be larger than ``high``.

    Attributes:
        low: value with a score of 0
        high: value with a score of 1
    """

    low: float = setting(**_FINITE)
    high: float = setting(**_FINITE)

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        return np.clip((raw - self.low) / (self.high - self.low), 0.0, 1.0)


@dataclass
class Sigmoid(Linear):
    """A logistic curve whose slope in the middle is that of the straight line from ``low`` to ``high``.

    Attributes:
        low: value with a score of 0.12
        high: value with a score of 0.88
    """

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        middle = (self.low + self.high) / 2
        return _logistic(2 * (raw - middle) / (self.high - self.low))


@dataclass
class DoubleSigmoid:
    """A score near 1 from ``low`` to ``high`` that falls on either side, as the product of two logistic curves.

    Attributes:
        low: lower end of the window; its curve scores 0.5 there
        high: upper end of the window; its curve scores 0.5 there
        width: distance outside of an end at which the curve scores 0.05
    """

    low: float = setting(**_FINITE)
    high: float = setting(**_FINITE)
    width: float = setting(**_POSITIVE)

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        slope = log(19) / 2 / self.width
        return _logistic(slope * (raw - self.low)) * _logistic(slope * (self.high - raw))


@dataclass
class Step:
    """A score of 1 from ``threshold`` on and 0 below; with ``above=False``, 1 up to ``threshold`` and 0 above.

    Attributes:
        threshold: value of the jump, which itself scores 1
        above: whether larger values score 1; false: smaller ones
    """

    threshold: float = setting(**_FINITE)
    above: bool = True

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        reached = raw >= self.threshold if self.above else raw <= self.threshold
        return np.where(np.isnan(raw), np.nan, reached)


@dataclass
class Thresholded:
    """A score that is the value divided by ``threshold``, clipped to [0, 1].

    Attributes:
        threshold: smallest value with a score of 1
    """

    threshold: float = setting(**_POSITIVE)

    def __call__(self, raw: Values) -> Values:
        """Return the score of each raw value."""
        return np.clip(raw / self.threshold, 0.0, 1.0)


TRANSFORMS: Final[Mapping[str, type]] = {
    "gaussian": Gaussian,
    "min_gaussian": MinGaussian,
    "max_gaussian": MaxGaussian,
    "linear": Linear,
    "sigmoid": Sigmoid,
    "double_sigmoid": DoubleSigmoid,
    "step": Step,
    "thresholded": Thresholded,
}


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


COMBINATIONS: Final[Mapping[str, Callable[[Values, Values], Values]]] = {
    "arithmetic_mean": arithmetic_mean,
    "geometric_mean": geometric_mean,
    "product": product,
}
