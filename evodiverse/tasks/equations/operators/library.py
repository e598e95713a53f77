"""A library of terms that laws are made of, and the linear algebra that finds those that the data ask for.

A term is a factor (see `evodiverse.tasks.equations.operators.grammar`), or a product of two. How much of the target
terms explain beside others has a closed form, so that thousands of them are compared at once.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.trees import FloatArray, Node, call, parameter, variable

Columns: TypeAlias = Sequence[FloatArray]

N_ATOMS: Final = 400
N_PLAIN, N_FREE = 1_500, 4_500
"""The largest number of factors that are multiplied, and of terms without and with parameters.

Those of the largest weights are kept.
"""

MAX_TERMS: Final = 6
N_COMPARED: Final = 500
"""The largest number of terms in a new sum, and of those among which it is searched for."""

N_BEST, N_DRAWN = 100, 500
"""The numbers of terms of which all pairs are compared: the best by themselves, and drawn ones without parameters."""

SCALES: Final = (0.6, 0.2, 0.2)
"""The probabilities that a new sum is multiplied by no, one or two powers of variables."""

TAKEN: Final = 0.3
"""The probability of taking the best suggestion; otherwise the next best is taken with this probability, and so on."""

_POWERS: Final = frozenset({"variable", "power", "number", "divide", "sqrt", "absolute"})
# A column counts as a combination of others if they leave less than this share of its variance unexplained, or less
# than the smaller share of its sum of squares, which is rounding error.
_RANK: Final = 1e-8
_SAME: Final = 1e-26


class _Atom(NamedTuple):
    """A factor with certain values of its parameters, and its values in the data."""

    node: Node
    weight: float
    column: FloatArray
    is_free: bool
    power_of: str
    """The name of the variable that the factor is a power of; empty if it is none."""


class Term(NamedTuple):
    """The factors of a term, each with its parameters numbered from 0, and the term's ``(n,)`` values up to scale."""

    factors: tuple[Node, ...]
    column: FloatArray

    def build(self, first: int) -> Node:
        """Return the product of the factors and a parameter with the number ``first``, which the others follow."""
        term = parameter(first)
        for factor in self.factors:
            term = call("multiply", term, factor.shift_parameters(term.next_parameter()))
        return term


class _Options(NamedTuple):
    """The factors of each of the ``m`` terms to choose from, and ``(m, n)`` values of the terms, scaled to length 1."""

    factors: Sequence[tuple[Node, ...]]
    columns: FloatArray


class Library:
    """Terms of the variables, evaluated at some of the rows that equations are fitted to.

    Args:
        columns: The ``(n,)`` values of each variable, by name.
        target: The ``(n,)`` values of the target.
        grammar: The grammar that builds the factors.
    """

    def __init__(self, columns: Mapping[str, FloatArray], target: FloatArray, grammar: Grammar) -> None:
        self._target = target
        atoms = [
            _Atom(node, kind.weight, unit(values), bool(params), name if is_power else "")
            for name, column in columns.items()
            for key, kind in grammar.factors.items()
            for node in (grammar.build_factor(key, variable(name), 0),)
            for is_power in (all(part.operation in _POWERS for _, part, _ in node.places()),)
            for params in kind.grid(float(column.min()), float(column.max()))
            for values in (np.broadcast_to(node.evaluate(columns, params), len(target)),)
        ]
        self._factors = _Options([(atom.node,) for atom in atoms], np.stack([atom.column for atom in atoms]))
        powers = [at for at, atom in enumerate(atoms) if atom.power_of]
        self._powers = _Options([(atoms[at].node,) for at in powers], self._factors.columns[powers])
        pairs = (
            (one, other)
            for one, other in combinations(sorted(atoms, key=lambda atom: -atom.weight)[:N_ATOMS], 2)
            if not (one.is_free and other.is_free) and (not one.power_of or one.power_of != other.power_of)
        )
        every: list[tuple[_Atom, ...]] = [(), *((atom,) for atom in atoms), *pairs]  # the first is a constant
        every.sort(key=lambda term: -math.prod([atom.weight for atom in term]))
        plain = [term for term in every if not any(atom.is_free for atom in term)][:N_PLAIN]
        free = [term for term in every if any(atom.is_free for atom in term)][:N_FREE]
        self._n_plain, terms, one = len(plain), plain + free, np.ones(len(target))
        products = np.stack([unit(math.prod((atom.column for atom in term), start=one)) for term in terms])
        self._terms = _Options([tuple(atom.node for atom in term) for term in terms], products)

    def suggest_factor(
        self, others: Columns, scale: FloatArray | None, rng: np.random.Generator
    ) -> tuple[Node, FloatArray] | None:
        """Draw a factor that explains much of what other terms leave unexplained; better factors are drawn more often.

        Args:
            others: The ``(n,)`` values of each of the other terms.
            scale: The ``(n,)`` values that the factor is multiplied by, or None for no scaling.
            rng: The generator of random numbers. At most one number is drawn from it.

        Returns:
            The factor, with its parameters numbered from 0, and its ``(n,)`` values times ``scale``, all multiplied by
            the same arbitrary positive number. None if no factor explains anything.
        """
        found = self._suggest(self._factors, others, scale, rng)
        return found and (found.factors[0], found.column)

    def suggest_term(self, others: Columns, scale: FloatArray | None, rng: np.random.Generator) -> Term | None:
        """Draw a term as `suggest_factor` draws a factor."""
        return self._suggest(self._terms, others, scale, rng)

    def suggest_pair(self, others: Columns, scale: FloatArray | None, rng: np.random.Generator) -> list[Term]:
        """Draw two terms that together explain much of what others leave unexplained, though each may explain little.

        The arguments are those of `suggest_factor`.
        """
        columns = _scaled(self._terms.columns, scale)
        best = np.argsort(-gains(self._target, others, columns), kind="stable")[:N_BEST]
        some = np.union1d(best, rng.choice(self._n_plain, min(N_DRAWN, self._n_plain), replace=False))
        pair = _find_pair(self._target, others, columns[some], int(rng.geometric(TAKEN)))
        return [Term(self._terms.factors[at], columns[at]) for at in some[pair]]

    def compose(self, rng: np.random.Generator) -> tuple[list[Node], list[Term]]:
        """Return a new sum of terms such that no exchange of one term by another lowers the error.

        Only some terms of the library take part. They are drawn, as is the number of terms in the sum.

        Returns:
            Powers of variables that the sum is multiplied by, perhaps none, and its terms. The columns of the terms
            include these factors.
        """
        scale, factors = np.ones(len(self._target)), list[Node]()
        for _ in range(int(rng.choice(len(SCALES), p=SCALES))):
            found = self._suggest(self._powers, [], scale, rng)
            if found is not None:
                scale, factors = found.column, [*factors, *found.factors]
        # In half of the sums, no term has parameters of its own.
        whole = self._n_plain if rng.random() < 0.5 else len(self._terms.factors)
        size = min(N_COMPARED, int(whole * rng.uniform(0.3, 1.0)) + 1)
        some = np.sort(rng.choice(whole, size, replace=False))
        columns = _scaled(self._terms.columns[some], scale)
        chosen = _search(self._target, columns, min(int(rng.integers(1, MAX_TERMS + 1)), size))
        return factors, [Term(self._terms.factors[some[at]], columns[at]) for at in chosen]

    def _suggest(
        self, options: _Options, others: Columns, scale: FloatArray | None, rng: np.random.Generator
    ) -> Term | None:
        """Draw an option that explains much, or return None if none explains anything.

        The best of all options with the same factors takes part.
        """
        columns = _scaled(options.columns, scale)
        explained = gains(self._target, others, columns)
        found = np.round(explained / (float(explained.max()) or 1.0), 9)
        rank = int(rng.geometric(TAKEN))
        best: dict[tuple[Node, ...], Term] = {}
        for at in np.argsort(-found, kind="stable").tolist():
            if found[at] <= 0 or len(best) == rank:
                break
            best.setdefault(options.factors[at], Term(options.factors[at], columns[at]))
        return best.popitem()[1] if best else None


def _scaled(columns: FloatArray, scale: FloatArray | None) -> FloatArray:
    return columns if scale is None else columns * unit(scale)


def _search(target: FloatArray, columns: FloatArray, n: int) -> list[int]:
    """Return the indices of n columns of small error: chosen greedily, then exchanged, alone or two at a time."""
    chosen: list[int] = []
    for _ in range(n):
        chosen.append(int(np.argmax(gains(target, list(columns[chosen]), columns))))
    error = rest(target, list(columns[chosen]))
    moves = [*((at,) for at in range(n)), *combinations(range(n), 2)]
    at = 0
    while at < len(moves) and error > 1e-20:  # a smaller one is rounding error
        others = [place for spot, place in enumerate(chosen) if spot not in moves[at]]
        values = list(columns[others])
        is_single = len(moves[at]) == 1
        new = [int(np.argmax(gains(target, values, columns)))] if is_single else _find_pair(target, values, columns, 1)
        lower = rest(target, list(columns[others + new]))
        if lower < 0.99 * error:
            chosen, error, at = others + new, lower, 0
        else:
            at += 1
    return chosen


def _find_pair(target: FloatArray, others: Columns, columns: FloatArray, rank: int) -> list[int]:
    """Return the indices of the two columns that explain most beside others, or of a pair of lower rank."""
    orthogonal, target = project(target, others)
    columns = columns - (columns @ orthogonal) @ orthogonal.T
    lengths = np.einsum("mn,mn->m", columns, columns)
    columns = columns / np.sqrt(np.where(lengths > _RANK, lengths, np.inf))[:, None]
    along, alike = columns @ target, columns @ columns.T
    squares, apart = along**2, 1 - alike**2
    explained = squares + squares[:, None] - 2 * along * along[:, None] * alike
    explained /= np.where(apart > _RANK, apart, np.inf)
    best, rank = np.argmax(explained), min(rank, len(columns) * (len(columns) - 1) // 2)
    if rank > 1:
        ordered = np.triu(explained, 1).ravel()
        largest = np.flatnonzero(ordered >= np.partition(ordered, -rank)[-rank])
        best = largest[np.argsort(-ordered[largest], kind="stable")[rank - 1]]
    return list(divmod(int(best), len(columns)))


def rest(target: FloatArray, basis: Columns) -> float:
    """Return the share of the target's sum of squares that a basis leaves unexplained."""
    _, left = project(target, basis)
    return float(left @ left) / (float(target @ target) or 1.0)


def project(target: FloatArray, basis: Columns) -> tuple[FloatArray, FloatArray]:
    """Return an orthonormal basis ``(n, k)`` of the span of k columns, and the residual ``(n,)`` of a target.

    The residual is the target minus its projection onto the span.
    """
    orthogonal, _ = np.linalg.qr(np.reshape([unit(column) for column in basis], (len(basis), len(target))).T)
    return orthogonal, target - orthogonal @ (orthogonal.T @ target)


def gains(target: FloatArray, basis: Columns, columns: FloatArray) -> FloatArray:
    """Return the ``(m,)`` shares of the target's sum of squares that each column explains in addition to a basis.

    Args:
        target: ``(n,)`` values.
        basis: The ``(n,)`` columns of the basis.
        columns: ``(m, n)`` columns, each considered separately.
    """
    lengths = np.einsum("mn,mn->m", columns, columns)
    squares = float(target @ target) or 1.0
    orthogonal, target = project(target, basis)
    own = lengths - ((columns @ orthogonal) ** 2).sum(axis=1)
    is_new = own > _RANK * lengths
    along = columns @ target
    if not is_new.all():  # such columns may differ from the basis even so, as a date differs from a constant
        near = left = columns[~is_new]
        for _ in range(2):  # the second projection removes what rounding left
            left = left - (left @ orthogonal) @ orthogonal.T
        own[~is_new], along[~is_new] = np.einsum("mn,mn->m", left, left), left @ target
        spread = near.var(axis=1) * near.shape[1]
        is_new[~is_new] = own[~is_new] > np.maximum(_RANK * spread, _SAME * lengths[~is_new])
    explained = along**2 / np.where(is_new, own, 1.0) / squares
    return np.asarray(np.where(is_new, explained, 0.0))


def unit(column: FloatArray) -> FloatArray:
    """Return a column scaled to unit length, or zeros if one of its values is too large or not a number."""
    if not (np.abs(column) < 1e100).all():
        return np.zeros(len(column))
    return np.asarray(column / (np.sqrt(column @ column) or 1.0))
