"""The classical operator for equations, which needs no language model: typed genetic programming.

It works on skeletons, which are equations with free parameters.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Final

import numpy as np

from evodiverse.errors import describe
from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import ARITHMETIC, FUNCTIONS, Grammar
from evodiverse.tasks.equations.operators.guided import Guide
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import (
    Kind,
    Node,
    NoEditError,
    build_product,
    build_total,
    call,
    draw,
    draw_factor_place,
    draw_inner_place,
    parameter,
    read_tree,
    variable,
    write_tree,
)
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.problems import Rows
from evodiverse.tasks.equations.skeleton import MAX_PARAMS
from evodiverse.vocabulary import Proposal, Request

FAILED: Final = "mutation"
MAX_SIZE: Final = 60
"""The largest number of nodes of a child, unless its parent has more."""

TRIES: Final = 20
CROSSOVER_RATE: Final = 0.3
MORE_EDITS: Final = (0.6, 0.25, 0.15)
"""The probabilities of 0, 1 and 2 edits after the first one, which may be a crossover."""

GUIDED_RATE: Final = 0.5
"""The probability of an edit that the data suggest, instead of random edits, if the parent has fitted parameters."""


class Mutations:
    """Edits equations at random.

    Args:
        grammar: The grammar that draws new expressions.
    """

    def __init__(self, grammar: Grammar) -> None:
        self._grammar = grammar
        self.edits: Mapping[str, tuple[Callable[[Node, np.random.Generator], Node], float]] = {
            "multiply_factor": (partial(_change_term, self._multiply_factor), 4.0),
            "replace_factor": (partial(_change_term, self._replace_factor), 3.0),
            "remove_factor": (partial(_change_term, _remove_factor), 0.7),
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

    def mutate(self, tree: Node, rng: np.random.Generator) -> tuple[Node, str]:
        """Return the mutated tree and the name of the mutation.

        Raises:
            NoEditError: The mutation that is drawn does not apply.
        """
        kind, edit = pick([((kind, edit), weight) for kind, (edit, weight) in self.edits.items()], rng)
        return edit(tree, rng), f"mutation_{kind}"

    def _add_product(self, tree: Node, rng: np.random.Generator) -> Node:
        """Add a product of up to three factors, each of a different variable."""
        term, names = parameter(tree.next_parameter()), self._grammar.variables
        n_factors = rng.integers(1, 4)
        for at in rng.permutation(len(names))[:n_factors].tolist():
            term = call("multiply", term, self._grammar.draw_factor(variable(names[at]), term.next_parameter(), rng))
        return call("add", tree, term)

    def _multiply_factor(self, term: Node, first: int, rng: np.random.Generator) -> Node:
        return call("multiply", term, self._grammar.draw_factor(self._grammar.draw_variable(rng), first, rng))

    def _replace_factor(self, term: Node, first: int, rng: np.random.Generator) -> Node:
        """Replace a factor of a term with a random one, which usually depends on the same variable."""
        factors = term.factors()
        place = draw_factor_place(factors, rng)
        same = variable(draw(sorted({str(leaf.value) for leaf in factors[place][1].leaves("variable")}), rng))
        x = same if rng.random() < 0.7 else self._grammar.draw_variable(rng)
        factors[place] = (1, self._grammar.draw_factor(x, first, rng))
        return build_product(factors)

    def _add_term(self, tree: Node, rng: np.random.Generator) -> Node:
        first = tree.next_parameter()
        return call("add", tree, call("multiply", parameter(first), self._draw(Kind.REAL, first + 1, rng)))

    def _replace_term(self, tree: Node, rng: np.random.Generator) -> Node:
        return self._add_term(self._remove_term(tree, rng), rng)

    def _remove_term(self, tree: Node, rng: np.random.Generator) -> Node:
        terms = tree.terms()
        if len(terms) < 2:
            raise NoEditError
        del terms[rng.integers(len(terms))]
        return build_total(terms)

    def _subtree(self, tree: Node, rng: np.random.Generator) -> Node:
        path, _, kind = draw_inner_place(tree, rng)
        return tree.put(path, self._draw(kind, tree.next_parameter(), rng))

    def _point(self, tree: Node, rng: np.random.Generator) -> Node:
        """Replace one operation or variable with another of its kind, or a number with a random leaf."""
        places = [place for place in tree.places() if place[1].operation not in ("parameter", "where")]
        path, node, kind = draw(places, rng)
        for alike, permitted in ((ARITHMETIC, self._grammar.arithmetic), (FUNCTIONS, self._grammar.functions)):
            if node.operation in alike:
                other = draw([name for name in permitted if name != node.operation], rng)
                return tree.put(path, self._grammar.guard(call(other, *node.arguments)))
        if node.operation == "variable":
            return tree.put(path, self._grammar.draw_variable(rng))
        if node.operation == "number":
            return tree.put(path, self._grammar.draw(kind, 1, tree.next_parameter(), rng))
        raise NoEditError

    def _wrap(self, tree: Node, rng: np.random.Generator) -> Node:
        """Put an operation around an expression; the other argument, if any, is random."""
        path, node, _ = draw([place for place in tree.places() if place[2] is Kind.REAL], rng)
        if rng.random() < 0.3:
            function = draw([name for name in self._grammar.functions if name != node.operation], rng)
            return tree.put(path, self._grammar.guard(call(function, node)))
        operation = draw(self._grammar.arithmetic, rng)
        return tree.put(path, call(operation, node, self._draw(Kind.REAL, tree.next_parameter(), rng)))

    def _hoist(self, tree: Node, rng: np.random.Generator) -> Node:
        """Replace an expression with a part of it."""
        path, node, kind = draw([place for place in tree.places() if place[1].arguments], rng)
        inner = [part for _, part, other in node.places() if other is kind and part is not node]
        return tree.put(path, draw(inner, rng))

    def _insert_parameter(self, tree: Node, rng: np.random.Generator) -> Node:
        """Multiply an expression by a new parameter, add the parameter to it, or use the parameter as its exponent."""
        path, node, _ = draw([place for place in tree.places() if place[2] is Kind.REAL], rng)
        operation = draw(("power", "add", "add", "multiply", "multiply"), rng)
        return tree.put(path, self._grammar.guard(call(operation, node, parameter(tree.next_parameter()))))

    def _remove_parameter(self, tree: Node, rng: np.random.Generator) -> Node:
        """Remove a parameter that is one of an operation's two arguments; the other argument replaces the operation."""
        found = [
            (path, other)
            for path, node, kind in tree.places()
            if kind is Kind.REAL and len(node.arguments) == 2
            for one, other in (node.arguments, node.arguments[::-1])
            if one.operation == "parameter"
        ]
        return tree.put(*draw(found, rng))

    def _draw(self, kind: Kind, first: int, rng: np.random.Generator) -> Node:
        return self._grammar.draw(kind, int(rng.integers(2, 5)), first, rng)


def _change_term(change: Callable[..., Node], tree: Node, rng: np.random.Generator) -> Node:
    """Return a sum with a term changed by a function of the term, the number of a new parameter and the generator."""
    terms = tree.terms()
    at = int(rng.integers(len(terms)))
    terms[at] = change(terms[at], tree.next_parameter(), rng)
    return build_total(terms)


def _remove_factor(term: Node, first: int, rng: np.random.Generator) -> Node:  # noqa: ARG001
    factors = term.factors()
    if len(factors) < 2:
        raise NoEditError
    del factors[rng.integers(len(factors))]
    return build_product(factors)


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
    return tree.put(path, draw(given, rng)) if given else tree


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
    terms[at] = build_product([*factors, draw(given, rng)])
    return build_total(terms)


CROSSOVERS: Final = {"subtree": (_cross_subtrees, 1.0), "terms": (_cross_terms, 1.5), "factors": (_cross_factors, 1.0)}
"""Each kind of crossover, and its weight in the choice among them."""


class EquationOperator:
    """Makes a child of a parent, which is an equation with free parameters (a skeleton).

    The child is made by one or more edits to the parent; the first may be a crossover with another parent.

    Args:
        variables: The names of the variables, in the order of an equation's arguments.
        positive: The names of the variables that are never negative.
        rows: The rows that equations are fitted to.
        permitted: The limits on children.
    """

    def __init__(
        self, variables: Sequence[str], positive: frozenset[str], rows: Rows, permitted: Permitted = NO_LIMIT
    ) -> None:
        self._permitted = permitted
        self._grammar = Grammar(variables, positive, permitted)
        self._mutations = Mutations(self._grammar)
        self._guided = Guide(variables, rows, self._grammar)

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request, whose genotype is a child: an equation with free parameters.

        The genotype is None if no allowed child was found. An allowed child has a variable and at most `MAX_PARAMS`
        parameters, is not too large (see `MAX_SIZE`), is permitted, and differs from its parents.

        Raises:
            ValueError: A request has no parents.
        """
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        rng = request.stream.rng()
        ranked = sorted(request.parents, key=lambda one: -np.inf if one.score is None else one.score, reverse=True)
        if rng.random() >= 0.75:  # else the better parent is the one that is changed
            ranked.reverse()
        try:
            parents = [read_tree(parent.genotype) for parent in ranked]
            text = ranked[0].details.get("params")
            params = None if text is None else json.loads(str(text))
            known = {_simplified(parent.genotype) for parent in ranked}
            largest = max(MAX_SIZE, parents[0].size)
            for _ in range(TRIES):
                tree, names = self._vary(parents, params, rng)
                tree = simplify(tree)
                is_allowed = tree.size <= largest and tree.n_parameters() <= MAX_PARAMS and tree not in known
                if names and is_allowed and not tree.is_constant:
                    source = write_tree(tree, self._grammar.variables)
                    if self._permitted.find_fault(source) is None:
                        return Proposal(source, "+".join(names))
        except RecursionError as error:  # parents from a language model may be that large
            return Proposal(None, FAILED, f"the parents are too large ({describe(error)})")
        return Proposal(None, FAILED, f"no allowed child in {TRIES} tries")

    def _vary(
        self, parents: Sequence[Node], params: Sequence[float] | None, rng: np.random.Generator
    ) -> tuple[Node, list[str]]:
        """Return a child and the names of its edits. If no edit was possible, return the first parent and no names.

        Args:
            parents: The parents, the first of which is changed.
            params: The fitted parameters of the first parent, or None if they are not known.
            rng: The random generator, from which any number of values is drawn.
        """
        tree, *others = parents
        if params is not None and rng.random() < GUIDED_RATE:
            edited, name = self._guided.edit(tree, params, rng)
            return (tree, []) if edited is None else (edited, [name])
        names: list[str] = []
        n_edits = int(rng.choice(len(MORE_EDITS), p=MORE_EDITS))
        if others and rng.random() < CROSSOVER_RATE:
            tree, name = cross(tree, others[0], rng)
            names.append(name)
        for _ in range(n_edits if names else n_edits + 1):
            with suppress(NoEditError):
                tree, name = self._mutations.mutate(tree, rng)
                names.append(name)
        return tree, names


@lru_cache(maxsize=4096)
def _simplified(source: str) -> Node:
    return simplify(read_tree(source))
