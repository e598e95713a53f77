"""Suggestions from the data, without any fit: which factors would explain most of what an equation leaves unexplained.

Only some of the fitted rows are used. An equation is treated as a sum of terms with free coefficients, and the
constants inside factors are taken from a grid. How much the error decreases with a further term therefore has a closed
form. It is computed for hundreds of factors at once (orthogonal matching pursuit; Pati, Rezaiifar and Krishnaprasad
1993).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.tasks.equations.operators.grammar import FACTORS, Grammar
from evodiverse.tasks.equations.operators.trees import Node, variable

FloatArray = NDArray[np.float64]

N_ROWS: Final = 256
# The probability of taking the best suggestion; otherwise the next best is taken with this probability, and so on.
TAKEN: Final = 0.3
USELESS: Final = 1e-3
_DIGITS: Final = 9
_LARGEST: Final = 1e100
# Share of the target's sum of squares that counts as rounding error.
_ROUNDING: Final = 1e-22
# A column counts as a combination of others if they leave less than this share of its variance unexplained, or less
# than the smaller share of its sum of squares, which is rounding error.
_RANK: Final = 1e-8
_SAME: Final = 1e-26


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A factor that `Guide` may suggest for an equation: its name, and the variable that it is a function of."""

    factor: str
    variable: str


class Guide:
    """Suggests changes to equations, based on some of the rows to which they are fitted.

    Args:
        names: The names of the variables.
        inputs: ``(n, variables)`` inputs of the fitted rows.
        target: ``(n,)`` target of the fitted rows.
        grammar: The grammar that builds the factors.
    """

    def __init__(self, names: Sequence[str], inputs: FloatArray, target: FloatArray, grammar: Grammar) -> None:
        some = np.linspace(0, len(target) - 1, min(N_ROWS, len(target))).astype(int)
        self._columns = dict(zip(names, inputs[some].T, strict=True))
        self._target = target[some]
        self._suggestions: list[Suggestion] = []
        values = []
        for name, column in self._columns.items():
            for factor, (_, _, grid) in FACTORS.items():
                node = grammar.build_factor(factor, variable(name), 0)
                for params in grid(float(column.min()), float(column.max())):
                    self._suggestions.append(Suggestion(factor, name))
                    values.append(self.evaluate(node, params))
        self._library = np.stack([_unit(column) for column in values])

    def evaluate(self, node: Node, params: Sequence[float]) -> FloatArray:
        """Return the ``(n,)`` values of an expression at the n rows that the guide uses; some may be infinite or NaN.

        Args:
            node: The expression.
            params: The values of the parameters, indexed by their numbers.
        """
        return np.broadcast_to(node.evaluate(self._columns, params), len(self._target))

    def suggest(
        self, others: Sequence[FloatArray], scale: FloatArray | None, rng: np.random.Generator
    ) -> tuple[Suggestion, FloatArray] | None:
        """Draw a factor that explains much of what other terms leave unexplained; better factors are drawn more often.

        Args:
            others: The ``(n,)`` values of each of the other terms.
            scale: The ``(n,)`` values that the factor is multiplied by, or None for no scaling.
            rng: The generator of random numbers. At most one number is drawn from it.

        Returns:
            The suggestion, and the ``(n,)`` values of the suggested factor times ``scale``, all multiplied by the same
            arbitrary positive number. None if no factor explains anything.
        """
        columns = self._library if scale is None else self._library * _unit(scale)
        explained = _gains(self._target, others, columns)
        found = np.round(explained / (float(explained.max()) or 1.0), _DIGITS)
        best: dict[Suggestion, int] = {}
        for at in np.argsort(-found, kind="stable").tolist():
            if found[at] > 0:
                best.setdefault(self._suggestions[at], at)
        if not best:
            return None
        at = list(best.values())[min(int(rng.geometric(TAKEN)), len(best)) - 1]
        return self._suggestions[at], columns[at]

    def find_needed(self, terms: Sequence[FloatArray]) -> list[int]:
        """Return the indices of the terms to keep, after removing the weakest one and then all useless ones.

        The weakest term is the one whose removal raises the error least. A term is useless if its removal raises the
        error by at most `USELESS` times the larger of two values: the error before the removal and the rounding error.

        Args:
            terms: The ``(n,)`` values of each of at least two terms.
        """
        kept = list(range(len(terms)))
        while len(kept) > 1:
            values = [terms[at] for at in kept]
            losses = [
                float(_gains(self._target, [*values[:at], *values[at + 1 :]], _unit(term)[None])[0])
                for at, term in enumerate(values)
            ]
            weakest = int(np.argmin(losses))
            if len(kept) < len(terms) and losses[weakest] > USELESS * max(_rest(self._target, values), _ROUNDING):
                break
            del kept[weakest]
        return kept


def _rest(target: FloatArray, basis: Sequence[FloatArray]) -> float:
    """Return the share of the target's sum of squares that a basis leaves unexplained."""
    _, left = _project(target, basis)
    return float(left @ left) / (float(target @ target) or 1.0)


def _project(target: FloatArray, basis: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis ``(n, k)`` of the span of k columns, and the residual ``(n,)`` of a target.

    The residual is the target minus its projection onto the span.
    """
    orthogonal, _ = np.linalg.qr(np.stack([_unit(column) for column in basis], axis=1))
    return orthogonal, target - orthogonal @ (orthogonal.T @ target)


def _gains(target: FloatArray, basis: Sequence[FloatArray], columns: FloatArray) -> FloatArray:
    """Return the ``(m,)`` shares of the target's sum of squares that each column explains in addition to a basis.

    Args:
        target: ``(n,)`` values.
        basis: The ``(n,)`` columns of the basis.
        columns: ``(m, n)`` columns, each considered separately.
    """
    lengths = np.einsum("mn,mn->m", columns, columns)
    own, squares = lengths, float(target @ target) or 1.0
    is_new = lengths > 0
    along = columns @ target
    if basis:
        orthogonal, target = _project(target, basis)
        own = lengths - ((columns @ orthogonal) ** 2).sum(axis=1)
        is_new = own > _RANK * lengths
        along = columns @ target
        if not is_new.all():  # such columns may differ from the basis even so, as a date differs from a constant
            near = columns[~is_new]
            rest = near
            for _ in range(2):  # the second projection removes what rounding left
                rest = rest - (rest @ orthogonal) @ orthogonal.T
            own[~is_new], along[~is_new] = np.einsum("mn,mn->m", rest, rest), rest @ target
            spread = near.var(axis=1) * near.shape[1]
            is_new[~is_new] = own[~is_new] > np.maximum(_RANK * spread, _SAME * lengths[~is_new])
    explained = along**2 / np.where(is_new, own, 1.0) / squares
    return np.asarray(np.where(is_new, explained, 0.0))


def _unit(column: FloatArray) -> FloatArray:
    """Return a column scaled to unit length, or zeros if one of its values is too large or not a number."""
    if not (np.abs(column) < _LARGEST).all():
        return np.zeros(len(column))
    return np.asarray(column / (np.sqrt(column @ column) or 1.0))
