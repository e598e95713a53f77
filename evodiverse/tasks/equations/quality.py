"""How well an equation explains data (paper, appendix on equation discovery)."""

from typing import Final

import numpy as np

from evodiverse.tasks.equations.problems.problem import FloatArray
from evodiverse.vocabulary import Detail

TOLERANCE: Final = 0.1
"""Relative error up to which a prediction counts as right (paper, "Acc")."""

LENIENT: Final = 0.95
"""Share of the points that must be right in the lenient reading."""


def mean_squared_error(predicted: FloatArray, target: FloatArray) -> float | None:
    """Return the mean squared error, None where it is too large for a number."""
    with np.errstate(over="ignore"):
        error = float(np.mean((predicted - target) ** 2))
    return error if np.isfinite(error) else None


def measure(name: str, predicted: FloatArray | None, target: FloatArray) -> dict[str, Detail]:
    """Return the columns of a split that is held out (paper, "Equation Discovery"): NMSE, and Acc in two readings.

    Args:
        name: Of the split.
        predicted: ``(n,)``, None where a prediction is no number; then nothing is right, and there is no NMSE.
        target: ``(n,)``; without rows there is nothing to be said.
    """
    if not len(target):
        return {}
    if predicted is None:
        return {f"acc01_{name}": 0, f"acc01_95_{name}": 0}
    right = np.abs(predicted - target) <= TOLERANCE * np.abs(target)
    error, variance = mean_squared_error(predicted, target), float(np.var(target))
    nmse = None if error is None or variance == 0 else error / variance
    return {
        f"nmse_{name}": nmse,
        f"acc01_{name}": int(right.all()),
        f"acc01_95_{name}": int(right.mean() >= LENIENT),
    }
