"""Edits of an equation that its data and its fitted parameters suggest, without any fit.

Only some of the fitted rows are used. An equation is treated as a sum of terms with free coefficients, and the
constants inside factors are taken from a grid. How much the error decreases with a further term therefore has a closed
form. It is computed for hundreds of factors at once (orthogonal matching pursuit; Pati, Rezaiifar and Krishnaprasad
1993).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.trees import (
    FloatArray,
    Kind,
    Node,
    build_product,
    build_total,
    call,
    draw_factor_place,
    number,
    parameter,
    variable,
)

PRODUCT_RATE: Final = 0.5
"""The probability that a product of factors, and not a single factor, replaces the weakest term."""

MAX_FACTORS: Final = 4
"""The largest number of factors in a new product."""

SNAP_EXPONENT, SNAP, LARGEST_FRACTION = 0.1, 0.003, 12
"""The limits within which a parameter may be replaced with a fraction.

The first is the largest distance of an exponent from the fraction, the second that of any other parameter. Both are
relative to the size of the parameter, or to 0.5 if that is larger. The third is the largest size of the parameter.
"""

GuidedEdit = Callable[[Node, Sequence[float], np.random.Generator], Node | None]

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
        self._factors: list[Node] = []
        values = []
        for name, column in self._columns.items():
            for factor, kind in grammar.factors.items():
                node = grammar.build_factor(factor, variable(name), 0)
                for params in kind.grid(float(column.min()), float(column.max())):
                    self._factors.append(node)
                    values.append(_unit(self.evaluate(node, params)))
        self._library = np.stack(values)
        self.edits: Mapping[str, tuple[GuidedEdit, float]] = {
            "term": (self._add_suggested_term, 1.5),
            "product": (self._add_suggested_product, 2.0),
            "fresh": (self._start_over, 0.5),
            "multiply": (self._multiply_suggested, 3.0),
            "replace": (self._replace_suggested, 2.0),
            "exchange": (self._exchange, 3.0),
            "prune": (self._prune, 1.0),
            "snap": (_snap, 0.7),
        }
        """Each kind of edit, and its weight in the choice among them."""

    def evaluate(self, node: Node, params: Sequence[float]) -> FloatArray:
        """Return the ``(n,)`` values of an expression at the n rows that the guide uses; some may be infinite or NaN.

        Args:
            node: The expression.
            params: The values of the parameters, indexed by their numbers.
        """
        return np.broadcast_to(node.evaluate(self._columns, params), len(self._target))

    def suggest(
        self, others: Sequence[FloatArray], scale: FloatArray | None, rng: np.random.Generator
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
        columns = self._library if scale is None else self._library * _unit(scale)
        explained = _gains(self._target, others, columns)
        found = np.round(explained / (float(explained.max()) or 1.0), _DIGITS)
        best: dict[Node, int] = {}
        for at in np.argsort(-found, kind="stable").tolist():
            if found[at] > 0:
                best.setdefault(self._factors[at], at)
        if not best:
            return None
        at = list(best.values())[min(int(rng.geometric(TAKEN)), len(best)) - 1]
        return self._factors[at], columns[at]

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

    def edit(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> tuple[Node | None, str]:
        """Return the edited tree (None if the edit does not apply) and the name of the edit.

        Args:
            tree: The tree of the equation.
            params: The fitted parameters of the equation.
            rng: The random generator. How many values are drawn from it depends on the data.
        """
        kind, edit = pick([((kind, edit), weight) for kind, (edit, weight) in self.edits.items()], rng)
        return edit(tree, params, rng), f"guided_{kind}"

    def _add_suggested_term(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Add a term with a single factor that explains much of the remaining error."""
        found, first = self.suggest(self._values(tree.terms(), params), None, rng), tree.next_parameter()
        return found and call("add", tree, call("multiply", parameter(first), found[0].shift_parameters(first + 1)))

    def _add_suggested_product(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Add a product of factors that explains much of the remaining error."""
        term = self._suggest_product(tree.next_parameter(), self._values(tree.terms(), params), rng)
        return term and call("add", tree, term)

    def _start_over(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:  # noqa: ARG002
        """Return a product of factors that explains much of the target by itself."""
        return self._suggest_product(0, [], rng)

    def _suggest_product(self, first: int, others: Sequence[FloatArray], rng: np.random.Generator) -> Node | None:
        """Return a product of a new parameter and factors that explains much of what other terms leave unexplained.

        The factors are chosen one after the other. None is returned if no factor explains anything.

        Args:
            first: The number of the new parameter.
            others: The ``(n,)`` values of each of the other terms.
            rng: The random generator. How many values are drawn from it depends on the data.
        """
        term, scale = parameter(first), None
        for _ in range(int(rng.integers(2, MAX_FACTORS + 1))):
            found = self.suggest(others, scale, rng)
            if found is None:
                break
            factor, scale = found
            term = call("multiply", term, factor.shift_parameters(term.next_parameter()))
        return term if term.arguments else None

    def _multiply_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Multiply a term by a factor such that the product explains much of what the other terms do not."""
        terms = tree.terms()
        at = int(rng.integers(len(terms)))
        values = self._values(terms, params)
        found = self.suggest([*values[:at], *values[at + 1 :]], values[at], rng)
        if found is None:
            return None
        terms[at] = call("multiply", terms[at], found[0].shift_parameters(tree.next_parameter()))
        return build_total(terms)

    def _replace_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Replace a factor of a term such that the term explains much of what the other terms do not."""
        terms = tree.terms()
        at = int(rng.integers(len(terms)))
        factors = terms[at].factors()
        place = draw_factor_place(factors, rng)
        if place is None:
            return None
        del factors[place]
        rest = build_product(factors) if factors else parameter(tree.next_parameter())
        scale = self.evaluate(rest, params) if factors else None
        values = self._values(terms, params)
        found = self.suggest([*values[:at], *values[at + 1 :]], scale, rng)
        if found is None:
            return None
        terms[at] = call("multiply", rest, found[0].shift_parameters(tree.next_parameter() + 1))
        return build_total(terms)

    def _prune(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:  # noqa: ARG002
        """Remove the weakest term and all useless ones; see `Guide.find_needed`."""
        terms = tree.terms()
        if len(terms) < 2:
            return None
        return build_total([terms[at] for at in self.find_needed(self._values(terms, params))])

    def _exchange(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Remove the terms that contribute least, and add a term that explains much of the remaining error.

        First the term whose removal raises the error least is removed, then all terms whose removal hardly raises it;
        see `Guide.find_needed`.
        """
        shorter = self._prune(tree, params, rng)
        if shorter is None:
            return None
        add = self._add_suggested_product if rng.random() < PRODUCT_RATE else self._add_suggested_term
        return add(shorter, params, rng)

    def _values(self, terms: Sequence[Node], params: Sequence[float]) -> list[FloatArray]:
        return [self.evaluate(term, params) for term in terms]


def _snap(tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
    """Replace a parameter that is close to a multiple of a half or a third with this multiple."""
    near: dict[str | float, float] = {}
    for _, node, kind in tree.places():
        if node.operation == "parameter":
            value = params[int(node.value)]
            fraction = nearest_fraction(value)
            within = SNAP_EXPONENT if kind is Kind.EXPONENT else SNAP
            if abs(value) <= LARGEST_FRACTION and abs(value - fraction) <= within * max(abs(value), 0.5):
                near[node.value] = fraction
    if not near:
        return None
    chosen = list(near)[rng.integers(len(near))]
    return tree.replace_parameters(lambda leaf: number(near[chosen]) if leaf.value == chosen else leaf)


def nearest_fraction(value: float) -> float:
    """Return the nearest multiple of a half or a third."""
    return min(round(value * 2) / 2, round(value * 3) / 3, key=lambda fraction: abs(value - fraction))


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
