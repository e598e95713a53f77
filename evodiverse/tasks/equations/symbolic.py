"""Whether an equation, in whatever form it is written, is the law, the true equation of a problem.

Two formulas count as the same if they give the same values at random points in a box around the data.
"""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from scipy.linalg import norm
from scipy.optimize import least_squares

from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import Node, read_tree
from evodiverse.tasks.equations.problems import FloatArray, Problem, Splits
from evodiverse.tasks.equations.skeleton import read_skeleton

N_POINTS: Final = 256
N_BEST: Final = 50
RESIDUE: Final = 1e-6
"""Largest difference between formulas that count as equal, relative to the size of the values; allows for rounding."""

FACTOR: Final = 2.0
"""In `Law.is_met`, the largest factor by which a constant may be larger or smaller than in the law."""

TOLERANCE: Final = 1e-3
"""In `Law.is_same`, the largest relative difference allowed between a constant and its value in the law."""

# For each stage of the fit, its number of steps, and the residue above which the fit is abandoned after this stage.
_STEPS: Final = ((10, 1e-4), (60, RESIDUE))
_NO_NUMBER: Final = 1e6
_PRECISION: Final = {"xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-15}


class Law:
    """A law with free constants, evaluated at points around the data of its problem.

    Args:
        problem: The problem with the law.
        splits: The data of the problem. The points fill a box around the data; see `draw_points`.
    """

    def __init__(self, problem: Problem, splits: Splits) -> None:
        self._tree = read_tree(read_law(problem))
        self._constants = np.array(problem.constants)
        self._columns = dict(zip(problem.names, draw_points(splits).T, strict=True))

    @property
    def size(self) -> int:
        """The complexity of the law, measured as that of equations."""
        return simplify(self._tree).size

    def is_met(self, source: str, params: Sequence[float]) -> bool:
        """Return whether an equation is the law, possibly with other constants.

        An equation with an additional term, even a small one, is not the law. Each constant may be larger or smaller
        than its true value by a factor of up to `FACTOR`, so it cannot become zero. If it could, an equation that lacks
        a term of the law would count as the law too.

        Args:
            source: The source code of the equation with free parameters (its skeleton), in canonical form.
            params: The fitted parameters of the equation.
        """
        residues = self._compare(source, params)
        if residues is None:
            return False
        moves, n = np.zeros(len(self._constants)), len(self._constants) + 1
        for n_steps, nearly in _STEPS:
            found = least_squares(residues, moves, method="lm", **_PRECISION, max_nfev=n_steps * n)
            moves = found.x
            if np.abs(found.fun).max() > nearly:
                return False
        return bool(((moves > 1 / FACTOR - 1) & (moves < FACTOR - 1)).all())

    def is_same(self, source: str, params: Sequence[float]) -> bool:
        """Return whether an equation is the law with its constants changed by at most 0.1% (`TOLERANCE`).

        The arguments are those of `is_met`.
        """
        residues = self._compare(source, params)
        if residues is None:
            return False
        moves = np.zeros(len(self._constants))
        found = least_squares(residues, moves, bounds=(-TOLERANCE, TOLERANCE), **_PRECISION)
        return bool(np.abs(found.fun).max() <= RESIDUE)

    def _compare(self, source: str, params: Sequence[float]) -> Callable[[FloatArray], FloatArray] | None:
        """Return a function of relative changes of the law's constants: how far the law is then from an equation.

        None is returned if the equation is too large to compare, or gives no numbers where the law does.
        """
        try:
            given = self._values(read_tree(source), params)
        except RecursionError:
            return None
        expected = self._values(self._tree, self._constants.tolist())
        known = np.isfinite(expected)
        if not known.any() or not np.isfinite(given[known]).all():
            return None
        # BLAS computes norms of huge values without overflow.
        scale = float(norm(given[known] / np.sqrt(known.sum()))) or 1.0

        def residues(moves: FloatArray) -> FloatArray:
            values = self._values(self._tree, (self._constants * (1 + moves)).tolist())
            differences = (values - given)[known] / scale
            return np.where(np.isfinite(differences), differences, _NO_NUMBER)

        return residues

    def _values(self, tree: Node, params: Sequence[float]) -> FloatArray:
        return np.broadcast_to(tree.evaluate(self._columns, params), N_POINTS)


def read_law(problem: Problem) -> str:
    """Return the law of a problem in canonical form. Unlike a candidate, the law may have any number of constants."""
    return read_skeleton(problem.skeleton, problem.names, len(problem.constants)).source


def draw_points(splits: Splits) -> FloatArray:
    """Return random points ``(N_POINTS, variables)`` from a box around the data.

    In each variable, the box extends beyond the data by half of their range on both sides. If the variable is never
    negative in the data, the box begins at half of the lowest value instead, so that no point is negative.
    """
    inputs = np.concatenate([rows.inputs for rows in splits])
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    half = (high - low) / 2
    shares = np.random.default_rng(0).uniform(size=(N_POINTS, len(low)))
    bottom = np.where(low >= 0, low / 2, low - half)
    return np.asarray(bottom + shares * (high + half - bottom))
