"""Edits of an equation that its data and its fitted parameters suggest, without any fit.

Only some of the fitted rows are used. An equation is treated as a sum of terms with free coefficients, and the
constants inside factors are taken from a grid. How much the error decreases with a further term therefore has a closed
form. It is computed for hundreds of factors at once (orthogonal matching pursuit; Pati, Rezaiifar and Krishnaprasad
1993).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.library import Columns, Library, Term, gains, rest, unit
from evodiverse.tasks.equations.operators.trees import (
    SUMS,
    FloatArray,
    Kind,
    Node,
    NoEditError,
    build_product,
    build_total,
    call,
    draw,
    draw_factor_place,
    number,
    parameter,
)
from evodiverse.tasks.equations.problems import Rows

SNAP_EXPONENT, SNAP, LARGEST_FRACTION = 0.1, 0.003, 12
"""The limits within which a parameter may be replaced with a fraction.

The first is the largest distance of an exponent from the fraction, the second that of any other parameter. Both are
relative to the size of the parameter, or to 0.5 if that is larger. The third is the largest size of the parameter.
"""

SumEdit = Callable[["_Sum", np.random.Generator], list[Node] | None]

USELESS: Final = 1e-3
# Share of the target's sum of squares that counts as rounding error.
_ROUNDING: Final = 1e-22


class Guide:
    """Suggests changes to equations, based on some of the rows to which they are fitted.

    Args:
        names: The names of the variables.
        rows: The fitted rows.
        grammar: The grammar that builds the factors.
    """

    def __init__(self, names: Sequence[str], rows: Rows, grammar: Grammar) -> None:
        n = len(rows.target)
        some = np.linspace(0, n - 1, min(256, n)).astype(int)
        self._columns = dict(zip(names, rows.inputs[some].T, strict=True))
        self._target = rows.target[some]
        self._library = Library(self._columns, self._target, grammar)
        self.edits: Mapping[str, tuple[Callable[[Node, Sequence[float], np.random.Generator], Node | None], float]] = {
            "term": (partial(self._within, self._add_term), 2.0),
            "pair": (partial(self._within, self._add_pair), 1.0),
            "product": (partial(self._within, self._add_product), 1.5),
            "fresh": (self._start_over, 2.0),
            "multiply": (partial(self._within, self._multiply_suggested), 2.5),
            "replace": (partial(self._within, self._replace_suggested), 2.0),
            "exchange": (partial(self._within, self._exchange), 4.0),
            "prune": (partial(self._within, self._prune), 1.0),
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

    def find_needed(self, terms: Columns, beside: Columns = (), n_weakest: int = 1) -> list[int]:
        """Return the indices of the terms to keep, after removing the weakest ones and then all useless ones.

        The weakest term is the one whose removal raises the error least. A term is useless if its removal raises the
        error by at most `USELESS` times the larger of two values: the error before the removal and the rounding error.
        One term always stays.

        Args:
            terms: The ``(n,)`` values of each term.
            beside: The ``(n,)`` values of other terms, which stay.
            n_weakest: The number of terms to remove even if they are useful.
        """
        kept = list(range(len(terms)))
        while len(kept) > 1:
            values = [terms[at] for at in kept]
            losses = [
                float(gains(self._target, [*beside, *values[:at], *values[at + 1 :]], unit(term)[None])[0])
                for at, term in enumerate(values)
            ]
            weakest = int(np.argmin(losses))
            is_useful = losses[weakest] > USELESS * max(rest(self._target, [*beside, *values]), _ROUNDING)
            if is_useful and len(terms) - len(kept) >= n_weakest:
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
        try:
            return edit(tree, params, rng), f"guided_{kind}"
        except NoEditError:
            return None, f"guided_{kind}"

    def _within(self, edit: SumEdit, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Return a tree with its sum of terms edited, or perhaps a sum that is a factor of one of the terms."""
        terms = tree.terms()
        inner = [
            (at, factors, place)
            for at, factors in enumerate(term.factors() for term in terms)
            for place, (sign, factor) in enumerate(factors)
            if sign > 0 and factor.operation in SUMS and not factor.is_constant and len(factors) > 1
        ]
        first = tree.next_parameter()
        if not inner or rng.random() >= 0.6:
            values = [self.evaluate(term, params) for term in terms]
            edited = edit(_Sum(terms, values, [], None, params, first), rng)
            return None if edited is None else build_total(edited)
        at, factors, place = draw(inner, rng)
        product = build_product(factors[:place] + factors[place + 1 :])
        scale, addends = self.evaluate(product, params), factors[place][1].terms()
        del terms[at]
        others = [self.evaluate(other, params) for other in terms]
        values = [self.evaluate(addend, params) * scale for addend in addends]
        edited = edit(_Sum(addends, values, others, scale, params, first), rng)
        return edited if edited is None else build_total([*terms, call("multiply", product, build_total(edited))])

    def _add_term(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Add a term of the library that explains much of the remaining error."""
        found = self._library.suggest_term(total.without(), total.scale, rng)
        return found and [*total.terms, found.build(total.first)]

    def _add_pair(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Add two terms of the library that together explain much of the remaining error."""
        one, other = self._library.suggest_pair(total.without(), total.scale, rng)
        built = one.build(total.first)
        return [*total.terms, built, other.build(built.next_parameter())]

    def _add_product(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Add a product of factors, chosen one after the other, that explains much of the remaining error."""
        factors, scale = list[Node](), total.scale
        for _ in range(rng.integers(2, 5)):
            found = self._library.suggest_factor(total.without(), scale, rng)
            if found is None:
                break
            factor, scale = found
            factors.append(factor)
        return None if scale is None or not factors else [*total.terms, Term(tuple(factors), scale).build(total.first)]

    def _start_over(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node:  # noqa: ARG002
        """Return a new sum of terms of the library, perhaps multiplied by powers of variables."""
        scale, terms = self._library.compose(rng)
        built: list[Node] = []
        for at in self.find_needed([term.column for term in terms], n_weakest=0):
            built.append(terms[at].build(built[-1].next_parameter() if built else 0))
        return build_product([(1, build_total(built)), *((1, factor) for factor in scale)])

    def _multiply_suggested(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Multiply a term by a factor such that the product explains much of what the other terms do not."""
        at = int(rng.integers(len(total.terms)))
        found = self._library.suggest_factor(total.without(at), total.values[at], rng)
        return found and total.put(at, call("multiply", total.terms[at], found[0].shift_parameters(total.first)))

    def _replace_suggested(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Replace a factor of a term such that the term explains much of what the other terms do not."""
        at = int(rng.integers(len(total.terms)))
        factors = total.terms[at].factors()
        del factors[draw_factor_place(factors, rng)]
        rest_of_term = build_product(factors) if factors else parameter(total.first)
        scale = total.scale
        if factors:
            own = self.evaluate(rest_of_term, total.params)
            scale = own if scale is None else own * scale
        found = self._library.suggest_factor(total.without(at), scale, rng)
        return found and total.put(at, call("multiply", rest_of_term, found[0].shift_parameters(total.first + 1)))

    def _prune(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:  # noqa: ARG002
        """Remove the weakest term and all useless ones; see `Guide.find_needed`."""
        if len(total.terms) < 2:
            return None
        return [total.terms[at] for at in self.find_needed(total.values, total.others)]

    def _exchange(self, total: "_Sum", rng: np.random.Generator) -> list[Node] | None:
        """Remove the weakest term and all useless ones, and add terms that explain much of the remaining error."""
        if len(total.terms) < 2:
            return None
        kept = self.find_needed(total.values, total.others)
        shorter = total._replace(terms=[total.terms[at] for at in kept], values=[total.values[at] for at in kept])
        add = pick([(self._add_term, 2.0), (self._add_pair, 1.0), (self._add_product, 1.0)], rng)
        return add(shorter, rng)


class _Sum(NamedTuple):
    """A sum in which an equation is linear: the equation itself, or a factor of one of its terms.

    Attributes:
        terms: The terms of the sum.
        values: The ``(n,)`` values that each term adds to the equation.
        others: The ``(n,)`` values of each term of the equation beside the sum.
        scale: The ``(n,)`` values that the equation multiplies the sum by; None for 1.
        params: The values of the equation's parameters, by their numbers.
        first: The smallest number that no parameter of the equation has.
    """

    terms: list[Node]
    values: list[FloatArray]
    others: list[FloatArray]
    scale: FloatArray | None
    params: Sequence[float]
    first: int

    def without(self, *left_out: int) -> list[FloatArray]:
        """Return the values of the equation's terms, except those of some terms of the sum."""
        return self.others + [values for at, values in enumerate(self.values) if at not in left_out]

    def put(self, at: int, term: Node) -> list[Node]:
        return [*self.terms[:at], term, *self.terms[at + 1 :]]


def _snap(tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node:
    """Replace a parameter that is close to a multiple of a half or a third with this multiple."""
    near: dict[str | float, float] = {}
    for _, node, kind in tree.places():
        if node.operation == "parameter":
            value = params[int(node.value)]
            fraction = nearest_fraction(value)
            within = SNAP_EXPONENT if kind is Kind.EXPONENT else SNAP
            if abs(value) <= LARGEST_FRACTION and abs(value - fraction) <= within * max(abs(value), 0.5):
                near[node.value] = fraction
    chosen, fraction = draw(list(near.items()), rng)
    return tree.replace_parameters(lambda leaf: number(fraction) if leaf.value == chosen else leaf)


def nearest_fraction(value: float) -> float:
    """Return the nearest multiple of a half or a third."""
    return min(round(value * 2) / 2, round(value * 3) / 3, key=lambda fraction: abs(value - fraction))
