"""Edits of an equation that its data and its fitted parameters suggest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.guidance import FloatArray, Guide, Suggestion
from evodiverse.tasks.equations.operators.sums import (
    build_product,
    build_total,
    draw_factor_place,
    find_factors,
    find_terms,
)
from evodiverse.tasks.equations.operators.trees import (
    PARAMETER,
    Kind,
    Node,
    call,
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


class GuidedEdits:
    """Edits fitted equations as their data suggest.

    Args:
        grammar: The grammar that builds new factors.
        guide: The guide that suggests factors and finds superfluous terms.
    """

    def __init__(self, grammar: Grammar, guide: Guide) -> None:
        self._grammar = grammar
        self._guide = guide
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
        found = self._guide.suggest(self._values(find_terms(tree), params), None, rng)
        if found is None:
            return None
        first = tree.next_parameter()
        return call("add", tree, call("multiply", parameter(first), self._build(found[0], first + 1)))

    def _add_suggested_product(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Add a product of factors that explains much of the remaining error."""
        term = self._suggest_product(tree.next_parameter(), self._values(find_terms(tree), params), rng)
        return None if term is None else call("add", tree, term)

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
            found = self._guide.suggest(others, scale, rng)
            if found is None:
                break
            suggestion, scale = found
            term = call("multiply", term, self._build(suggestion, term.next_parameter()))
        return term if term.arguments else None

    def _multiply_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Multiply a term by a factor such that the product explains much of what the other terms do not."""
        terms = find_terms(tree)
        at = int(rng.integers(len(terms)))
        values = self._values(terms, params)
        found = self._guide.suggest([*values[:at], *values[at + 1 :]], values[at], rng)
        if found is None:
            return None
        terms[at] = call("multiply", terms[at], self._build(found[0], tree.next_parameter()))
        return build_total(terms)

    def _replace_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Replace a factor of a term such that the term explains much of what the other terms do not."""
        terms = find_terms(tree)
        at = int(rng.integers(len(terms)))
        factors = find_factors(terms[at])
        place = draw_factor_place(factors, rng)
        if place is None:
            return None
        del factors[place]
        rest = build_product(factors) if factors else parameter(tree.next_parameter())
        scale = self._guide.evaluate(rest, params) if factors else None
        values = self._values(terms, params)
        found = self._guide.suggest([*values[:at], *values[at + 1 :]], scale, rng)
        if found is None:
            return None
        terms[at] = call("multiply", rest, self._build(found[0], tree.next_parameter() + 1))
        return build_total(terms)

    def _prune(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:  # noqa: ARG002
        """Remove the weakest term and all useless ones; see `Guide.find_needed`."""
        terms = find_terms(tree)
        if len(terms) < 2:
            return None
        return build_total([terms[at] for at in self._guide.find_needed(self._values(terms, params))])

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
        return [self._guide.evaluate(term, params) for term in terms]

    def _build(self, suggestion: Suggestion, first: int) -> Node:
        return self._grammar.build_factor(suggestion.factor, variable(suggestion.variable), first)


def _snap(tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
    """Replace a parameter that is close to a multiple of a half or a third with this multiple."""
    near: dict[str | float, float] = {}
    for _, node, kind in tree.places():
        if node.operation == PARAMETER:
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
