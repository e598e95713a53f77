"""Whether equations are the law: symbolic accuracy, at first place and among the best 50."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import norm
from scipy.optimize import least_squares

from evodiverse.tasks.equations.operators.trees import Node, TreeSizeError, evaluate, read_tree
from evodiverse.tasks.equations.problems import Problem, Splits
from evodiverse.tasks.equations.skeleton import read_skeleton

FloatArray = NDArray[np.float64]

N_POINTS: Final = 256
N_BEST: Final = 50
RESIDUE: Final = 1e-6
"""Of the law's own size; two formulas that are the same differ by rounding alone."""

FACTOR: Final = 2.0
"""How many times as large or as small a constant of the law may be."""

# Steps of the fit, and the residue above which it is given up after them.
_STEPS: Final = ((10, 1e-4), (60, RESIDUE))
_NO_NUMBER: Final = 1e6


class Law:
    """A law with free constants, at points around the data of its problem.

    Args:
        problem: Has the law.
        splits: Of the problem; the box of the points is twice as wide as theirs.
    """

    def __init__(self, problem: Problem, splits: Splits) -> None:
        self._names = [variable.name for variable in problem.variables]
        self._tree = read_tree(read_law(problem))
        self._constants = np.array(problem.constants)
        self._columns = dict(zip(self._names, draw_points(splits).T, strict=True))

    def is_met(self, source: str, params: Sequence[float]) -> bool:
        """Return whether the law gives what an equation gives, with other constants within `FACTOR` of its own.

        A term more in the equation, however small, is one that the law has not. A law whose constants may be zero would
        hold others.

        Args:
            source: A skeleton in its one form.
            params: Its fitted parameters.
        """
        try:
            given = self._values(read_tree(source), params)
        except (TreeSizeError, RecursionError):
            return False
        expected = self._values(self._tree, self._constants.tolist())
        known = np.isfinite(expected)
        if not known.any() or not np.isfinite(given[known]).all():
            return False
        scale = float(norm(given[known] / np.sqrt(known.sum()))) or 1.0  # BLAS squares no huge value

        def residues(moves: FloatArray) -> FloatArray:
            values = self._values(self._tree, (self._constants * (1 + moves)).tolist())
            differences = (values - given)[known] / scale
            return np.where(np.isfinite(differences), differences, _NO_NUMBER)

        moves, n = np.zeros(len(self._constants)), len(self._constants) + 1
        for n_steps, nearly in _STEPS:
            found = least_squares(
                residues, moves, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=n_steps * n
            )
            moves = found.x
            if np.abs(found.fun).max() > nearly:
                return False
        return bool(((moves > 1 / FACTOR - 1) & (moves < FACTOR - 1)).all())

    def _values(self, tree: Node, params: Sequence[float]) -> FloatArray:
        return np.broadcast_to(evaluate(tree, self._columns, params), N_POINTS)


def read_law(problem: Problem) -> str:
    """Return the law of a problem in its one form; it may have more constants than a hypothesis."""
    return read_skeleton(problem.skeleton, [one.name for one in problem.variables], len(problem.constants)).source


def draw_points(splits: Splits) -> FloatArray:
    """Return points ``(n, variables)`` around the data; what is never negative there stays so."""
    inputs = np.concatenate([rows.inputs for rows in splits])
    low, high = inputs.min(axis=0), inputs.max(axis=0)
    half = (high - low) / 2
    shares = np.random.default_rng(0).uniform(size=(N_POINTS, len(low)))
    bottom = np.where(low >= 0, low / 2, low - half)
    return np.asarray(bottom + shares * (high + half - bottom))
