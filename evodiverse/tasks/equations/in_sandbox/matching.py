"""The comparison of an equation with a law. The sandbox loads this module before any program."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

FloatArray = NDArray[np.float64]

TOLERANCE = 1e-3
"""Largest relative difference allowed between a constant and its value in the law."""

# Largest difference between formulas that count as equal, relative to the size of the law; it allows for rounding.
RESIDUE = 1e-6


def drive(
    functions: Callable[[], Sequence[Callable[..., Any]]],
    params: Sequence[float],
    constants: Sequence[float],
    inputs: FloatArray,
) -> bool:
    """Return whether the law (the true equation of the problem) can give the same values as an equation.

    For this, each constant of the law may change by at most `TOLERANCE` times its value.

    `report.is_law` has the sandbox call this function.

    Args:
        functions: The function that the program in the sandbox defines (see `define_all`). It takes no arguments and
            returns the equation and the law, in this order, as Python functions.
        params: The parameters of the equation.
        constants: The constants of the law.
        inputs: ``(n, variables)`` points of comparison. Those where the law is not finite are ignored.
    """
    equation, law = functions()
    columns = list(inputs.T)
    own = np.array(constants)

    def evaluate(function: Callable[..., Any], values: Sequence[float] | FloatArray) -> FloatArray:
        return np.broadcast_to(np.asarray(function(*columns, values), dtype=np.float64), len(inputs))

    with np.errstate(all="ignore"):
        expected, wanted = evaluate(law, own), evaluate(equation, np.array(params))
        is_known = np.isfinite(expected)
        if not is_known.any() or not np.isfinite(wanted[is_known]).all():
            return False
        scale = float(np.sqrt(np.mean(expected[is_known] ** 2))) or 1.0

        def residues(moves: FloatArray) -> FloatArray:
            differences = (evaluate(law, own * (1 + moves)) - wanted)[is_known] / scale
            return np.where(np.isfinite(differences), differences, 1e6)

        bound = np.full(len(own), TOLERANCE)
        found = least_squares(residues, np.zeros(len(own)), bounds=(-bound, bound), xtol=1e-15, ftol=1e-15, gtol=1e-15)
        return bool(np.abs(residues(found.x)).max() <= RESIDUE)
