"""95% confidence intervals of an equation's constants, from the covariance of its fit or by bootstrap."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import stdtrit

from evodiverse.tasks.equations.problems import FloatArray

_TAIL: Final = 0.025  # probability beyond each end of an interval
_STEP: Final = 1e-7  # of finite differences, as a share of the constant
# Share of the largest singular value below which a combination of constants has no effect on the predictions, and the
# least share of a constant in such a combination; what is smaller comes from rounding.
_NO_EFFECT, _SHARE = 1e-7, 1e-6
_NO_NUMBER: Final = 1e150  # takes the place of a residual that is not finite; its square is finite

Predict = Callable[[FloatArray], FloatArray]
"""A function that returns the ``(n,)`` predictions for given constants."""


def find_intervals(
    predict: Predict, params: Sequence[float], target: FloatArray, roots: FloatArray | float = 1.0
) -> FloatArray:
    """Return the ends ``(n_params, 2)`` of the intervals that follow from the fit's covariance and Student's t.

    The Jacobian is computed by central differences. The ends are infinite if the rows do not determine the constant,
    for example because there are no more rows than constants.

    Args:
        predict: The predictions of the fitted rows.
        params: The fitted constants.
        target: ``(n,)`` target of the fitted rows.
        roots: ``(n,)`` square roots of the weights of the squared errors, up to a common factor.
    """
    fitted = np.array(params, dtype=np.float64)
    free = len(target) - len(fitted)
    if not len(fitted):
        return np.empty((0, 2))
    if free <= 0:
        return np.tile([-np.inf, np.inf], (len(fitted), 1))
    steps = _STEP * np.where(fitted == 0, 1.0, np.abs(fitted))
    with np.errstate(all="ignore"):
        changes = [roots * (predict(fitted + step) - predict(fitted - step)) for step in np.diag(steps)]
        jacobian = np.stack(changes, 1) / 2
        lengths = np.linalg.norm(jacobian, axis=0)
        scaled = np.nan_to_num(jacobian / lengths, nan=0.0, posinf=0.0, neginf=0.0)
        _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
        sizes[sizes <= _NO_EFFECT * sizes[0]] = 0.0
        directions[np.abs(directions) < _SHARE] = 0.0
        variances = np.nansum((directions / sizes[:, None]) ** 2, axis=0)
        error = float(np.sqrt(np.sum((roots * (predict(fitted) - target)) ** 2) / free))
        half = stdtrit(free, 1 - _TAIL) * error * np.sqrt(variances) * steps / lengths
    half[~np.isfinite(half)] = np.inf
    return np.stack([fitted - half, fitted + half], axis=1)


def bootstrap_intervals(
    predict: Predict, params: Sequence[float], target: FloatArray, n_samples: int, roots: FloatArray | float = 1.0
) -> FloatArray:
    """Return the ends ``(n_params, 2)`` of the intervals of constants that are fitted to samples of the rows.

    Each sample draws as many rows as there are, with replacement. The arguments are those of `find_intervals`, besides
    the number of samples. The result is always the same for the same arguments.
    """
    rng, fits = np.random.default_rng(0), []
    sizes = np.where(np.array(params) == 0, 1.0, np.abs(params))
    for _ in range(n_samples if len(params) else 0):
        rows = rng.integers(len(target), size=len(target))
        fits.append(least_squares(_find_residues, params, x_scale=sizes, args=(predict, target, roots, rows)).x)
    return np.quantile(fits, [_TAIL, 1 - _TAIL], axis=0).T if fits else np.empty((0, 2))


def _find_residues(
    params: FloatArray, predict: Predict, target: FloatArray, roots: FloatArray | float, rows: NDArray[np.int64]
) -> FloatArray:
    residues = (roots * (predict(params) - target))[rows]
    return np.where(np.isfinite(residues), residues, _NO_NUMBER)
