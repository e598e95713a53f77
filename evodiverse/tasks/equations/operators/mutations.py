"""Mutations and crossovers of equations that do not depend on the data."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import ARITHMETIC, FUNCTIONS, Grammar
from evodiverse.tasks.equations.operators.trees import (
    Kind,
    Node,
    build_product,
    build_total,
    call,
    draw_factor_place,
    draw_inner_place,
    draw_place,
    parameter,
    variable,
)

MAX_FACTORS: Final = 3
"""The largest number of factors in a new product."""

DEPTH: Final = 4
"""The largest ``depth`` of a random expression, see `Grammar.draw`."""

WRAP_FUNCTION_RATE: Final = 0.3
SAME_VARIABLE_RATE: Final = 0.7

Edit = Callable[[Node, np.random.Generator], Node | None]


class Mutations:
    """Edits equations at random.

    Args:
        grammar: The grammar that draws new expressions.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self.edits: Mapping[str, tuple[Edit, float]] = {
            "multiply_factor": (self._multiply_factor, 4.0),
            "replace_factor": (self._replace_factor, 3.0),
            "remove_factor": (self._remove_factor, 0.7),
            "add_product": (self._add_product, 2.0),
            "add_term": (self._add_term, 1.5),
            "replace_term": (self._replace_term, 2.0),
            "remove_term": (self._remove_term, 0.7),
            "subtree": (self._subtree, 1.5),
            "point": (self._point, 1.5),
            "wrap": (self._wrap, 1.0),
            "hoist": (self._hoist, 0.5),
            "insert_parameter": (self._insert_parameter, 1.0),
            "remove_parameter": (self._remove_parameter, 0.5),
        }
        """Each kind of mutation, and its weight in the choice among them."""

    def mutate(self, tree: Node, rng: np.random.Generator) -> tuple[Node | None, str]:
        """Return the mutated tree (None if the mutation does not apply) and the name of the mutation."""
        kind, edit = pick([((kind, edit), weight) for kind, (edit, weight) in self.edits.items()], rng)
        return edit(tree, rng), f"mutation_{kind}"

    def _add_product(self, tree: Node, rng: np.random.Generator) -> Node:
        """Add a product of factors, each of a different variable."""
        first = tree.next_parameter()
        term = parameter(first)
        names = self._grammar.variables
        n_factors = min(int(rng.integers(1, MAX_FACTORS + 1)), len(names))
        for at in rng.permutation(len(names))[:n_factors].tolist():
            term = call("multiply", term, self._grammar.draw_factor(variable(names[at]), term.next_parameter(), rng))
        return call("add", tree, term)

    def _multiply_factor(self, tree: Node, rng: np.random.Generator) -> Node:
        """Multiply a term by a factor."""
        terms = tree.terms()
        at = int(rng.integers(len(terms)))
        factor = self._grammar.draw_factor(self._grammar.draw_variable(rng), tree.next_parameter(), rng)
        terms[at] = call("multiply", terms[at], factor)
        return build_total(terms)

    def _replace_factor(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Replace a factor of a term with a random one, which usually depends on the same variable."""
        terms = tree.terms()
        at = int(rng.integers(len(terms)))
        factors = terms[at].factors()
        place = draw_factor_place(factors, rng)
        if place is None:
            return None
        names = sorted({str(leaf.value) for leaf in factors[place][1].leaves("variable")})
        same = variable(names[rng.integers(len(names))])
        x = same if rng.random() < SAME_VARIABLE_RATE else self._grammar.draw_variable(rng)
        factors[place] = (1, self._grammar.draw_factor(x, tree.next_parameter(), rng))
        terms[at] = build_product(factors)
        return build_total(terms)

    def _remove_factor(self, tree: Node, rng: np.random.Generator) -> Node | None:
        terms = tree.terms()
        at = int(rng.integers(len(terms)))
        factors = terms[at].factors()
        if len(factors) < 2:
            return None
        del factors[rng.integers(len(factors))]
        terms[at] = build_product(factors)
        return build_total(terms)

    def _add_term(self, tree: Node, rng: np.random.Generator) -> Node:
        first = tree.next_parameter()
        return call("add", tree, call("multiply", parameter(first), self._draw(Kind.REAL, first + 1, rng)))

    def _replace_term(self, tree: Node, rng: np.random.Generator) -> Node | None:
        shorter = self._remove_term(tree, rng)
        return shorter and self._add_term(shorter, rng)

    def _remove_term(self, tree: Node, rng: np.random.Generator) -> Node | None:
        terms = tree.terms()
        if len(terms) < 2:
            return None
        at = rng.integers(len(terms))
        return build_total([*terms[:at], *terms[at + 1 :]])

    def _subtree(self, tree: Node, rng: np.random.Generator) -> Node:
        path, _, kind = draw_inner_place(tree, rng)
        return tree.put(path, self._draw(kind, tree.next_parameter(), rng))

    def _point(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Replace one operation or variable with another of its kind, or a number with a random leaf."""
        found = [place for place in tree.places() if place[1].operation not in ("parameter", "where")]
        if not found:
            return None
        path, node, kind = draw_place(found, rng)
        for alike, permitted in ((ARITHMETIC, self._grammar.arithmetic), (FUNCTIONS, self._grammar.functions)):
            if node.operation in alike:
                other = _other(permitted, node.operation, rng)
                return None if other is None else tree.put(path, self._grammar.guard(call(other, *node.arguments)))
        if node.operation == "variable":
            return tree.put(path, self._grammar.draw_variable(rng))
        if node.operation == "number":
            return tree.put(path, self._grammar.draw(kind, 1, tree.next_parameter(), rng))
        return None

    def _wrap(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Put an operation around an expression; the other argument, if any, is random."""
        path, node, _ = draw_place([place for place in tree.places() if place[2] is Kind.REAL], rng)
        if rng.random() < WRAP_FUNCTION_RATE:
            function = _other(self._grammar.functions, node.operation, rng)
            return None if function is None else tree.put(path, self._grammar.guard(call(function, node)))
        operation = _other(self._grammar.arithmetic, "", rng)
        if operation is None:
            return None
        return tree.put(path, call(operation, node, self._draw(Kind.REAL, tree.next_parameter(), rng)))

    def _hoist(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Replace an expression with a part of it."""
        found = [place for place in tree.places() if place[1].arguments]
        if not found:
            return None
        path, node, kind = draw_place(found, rng)
        inner = [part for _, part, other in node.places() if other is kind and part is not node]
        return tree.put(path, inner[rng.integers(len(inner))]) if inner else None

    def _insert_parameter(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Multiply an expression by a new parameter, add the parameter to it, or use the parameter as its exponent."""
        path, node, _ = draw_place([place for place in tree.places() if place[2] is Kind.REAL], rng)
        operation = ("power", "add", "add", "multiply", "multiply")[rng.integers(5)]
        return tree.put(path, self._grammar.guard(call(operation, node, parameter(tree.next_parameter()))))

    def _remove_parameter(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Remove a parameter that is one of an operation's two arguments; the other argument replaces the operation."""
        found = [
            (path, other)
            for path, node, kind in tree.places()
            if kind is Kind.REAL and len(node.arguments) == 2
            for one, other in (node.arguments, node.arguments[::-1])
            if one.operation == "parameter"
        ]
        if not found:
            return None
        path, other = found[rng.integers(len(found))]
        return tree.put(path, other)

    def _draw(self, kind: Kind, first: int, rng: np.random.Generator) -> Node:
        return self._grammar.draw(kind, int(rng.integers(2, DEPTH + 1)), first, rng)


def _other(names: Sequence[str], name: str, rng: np.random.Generator) -> str | None:
    others = [other for other in names if other != name]
    return others[rng.integers(len(others))] if others else None


def cross(tree: Node, other: Node, rng: np.random.Generator) -> tuple[Node, str]:
    """Return a tree with a part of another tree inserted, and the name of the crossover.

    The parameters of this part get new numbers. If the other tree has no suitable part, nothing is inserted.
    """
    kind, combine = pick([((kind, combine), weight) for kind, (combine, weight) in CROSSOVERS.items()], rng)
    donor = other.shift_parameters(tree.next_parameter())
    return combine(tree, donor, rng), f"crossover_{kind}"


def _cross_subtrees(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    path, _, kind = draw_inner_place(tree, rng)
    given = [node for _, node, other in donor.places() if other is kind]
    return tree.put(path, given[rng.integers(len(given))]) if given else tree


def _cross_terms(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum with one or two terms of another sum added, possibly in place of one of its own terms."""
    terms, given = tree.terms(), donor.terms()
    n_taken = min(len(given), int(rng.integers(1, 3)))
    if len(terms) > 1 and rng.random() < 0.5:
        del terms[rng.integers(len(terms))]
    return build_total([*terms, *(given[at] for at in rng.permutation(len(given))[:n_taken])])


def _cross_factors(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum with one of its terms multiplied or divided by a factor from a term of another sum.

    In the changed term, the new factor may take the place of an old one. If no factor of the other sum contains a
    variable, the sum is returned unchanged.
    """
    terms = tree.terms()
    at = int(rng.integers(len(terms)))
    given = [pair for term in donor.terms() for pair in term.factors() if not pair[1].is_constant]
    if not given:
        return tree
    factors = terms[at].factors()
    if len(factors) > 1 and rng.random() < 0.5:
        del factors[rng.integers(len(factors))]
    terms[at] = build_product([*factors, given[rng.integers(len(given))]])
    return build_total(terms)


CROSSOVERS: Final = {"subtree": (_cross_subtrees, 1.0), "terms": (_cross_terms, 1.5), "factors": (_cross_factors, 1.0)}
"""Each kind of crossover, and its weight in the choice among them."""
