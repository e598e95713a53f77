"""What data say about a change before it is fitted: which factors would explain most of what an equation leaves.

On some of the rows that are fitted, with the constants of factors on a grid and only the coefficients of terms free,
what a factor would add to a sum of terms follows in closed form, for hundreds of them at once (orthogonal matching
pursuit; Pati, Rezaiifar and Krishnaprasad 1993).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.tasks.equations.operators.factors import FACTORS, build_factor
from evodiverse.tasks.equations.operators.trees import Node, evaluate, variable

FloatArray = NDArray[np.float64]

N_ROWS: Final = 256
# How often the best of all suggestions is taken, and of what is left the best, and so on.
TAKEN: Final = 0.3
USELESS: Final = 1e-3
_DIGITS: Final = 9
_LARGEST: Final = 1e100
# Of the target's square, less than which is no more than rounding.
_ROUNDING: Final = 1e-22
# Of a column's square, below which the others span it.
_RANK: Final = 1e-8


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A factor of a variable, by names."""

    factor: str
    variable: str


class Guide:
    """Knows some of the rows that equations are fitted to.

    Args:
        names: Of the variables.
        inputs: ``(n, variables)``.
        target: ``(n,)``.
        guard: Keeps factors from numbers that they have no value for.
    """

    def __init__(
        self, names: Sequence[str], inputs: FloatArray, target: FloatArray, guard: Callable[[Node], Node]
    ) -> None:
        some = np.linspace(0, len(target) - 1, min(N_ROWS, len(target))).astype(int)
        self._columns = dict(zip(names, inputs[some].T, strict=True))
        self._target = target[some]
        self._suggestions: list[Suggestion] = []
        values = []
        for name, column in self._columns.items():
            for factor, (_, _, grid) in FACTORS.items():
                node = build_factor(factor, variable(name), 0, guard)
                for params in grid(float(column.min()), float(column.max())):
                    self._suggestions.append(Suggestion(factor, name))
                    values.append(self.evaluate(node, params))
        self._library = np.stack([_unit(column) for column in values])

    def evaluate(self, node: Node, params: Sequence[float]) -> FloatArray:
        """Return the values ``(n,)`` of an expression with these parameters, which may be no numbers."""
        return np.broadcast_to(evaluate(node, self._columns, params), len(self._target))

    def suggest(
        self, others: Sequence[FloatArray], scale: FloatArray | None, rng: np.random.Generator
    ) -> tuple[Suggestion, FloatArray] | None:
        """Draw a factor, the better the more often, and return its values too; None where none explains anything.

        Args:
            others: Values of the terms that stay, ``(n,)`` each.
            scale: What the factor is multiplied by, ``(n,)``, None for nothing.
            rng: Consumed at most once.
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
        """Return which of at least two terms stay when the weakest goes, and after it each that is of no use.

        The weakest is the one that the others can best do without; of no use is one without which the error rises by
        less than `USELESS` of what it is, as far as it is more than rounding.
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
    """Return which share of the target's squares a basis leaves."""
    _, left = _project(target, basis)
    return float(left @ left) / (float(target @ target) or 1.0)


def _project(target: FloatArray, basis: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return an orthogonal basis ``(n, k)`` of what k columns span, and what they leave of a target."""
    orthogonal, _ = np.linalg.qr(np.stack([_unit(column) for column in basis], axis=1))
    return orthogonal, target - orthogonal @ (orthogonal.T @ target)


def _gains(target: FloatArray, basis: Sequence[FloatArray], columns: FloatArray) -> FloatArray:
    """Return which share of the target's squares each column explains beyond what a basis does, ``(m,)``.

    Args:
        target: ``(n,)``.
        basis: Columns ``(n,)`` that are there anyway.
        columns: ``(m, n)``, of which one is added.
    """
    lengths = np.einsum("mn,mn->m", columns, columns)
    own, squares = lengths, float(target @ target) or 1.0
    if basis:
        orthogonal, target = _project(target, basis)
        own = lengths - ((columns @ orthogonal) ** 2).sum(axis=1)
    is_new = own > _RANK * lengths
    explained = (columns @ target) ** 2 / np.where(is_new, own, 1.0) / squares
    return np.asarray(np.where(is_new, explained, 0.0))


def _unit(column: FloatArray) -> FloatArray:
    """Return a column of unit length, zeros for one with values that are no numbers or too large."""
    if not (np.abs(column) < _LARGEST).all():
        return np.zeros(len(column))
    return np.asarray(column / (np.sqrt(column @ column) or 1.0))
