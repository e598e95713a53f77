"""The classical operator of equations: typed genetic programming on skeletons, without a language model."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from evodiverse.errors import describe
from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.grammar import ARITHMETIC, FUNCTIONS, Grammar
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import (
    NUMBER,
    PARAMETER,
    VARIABLE,
    Kind,
    Node,
    TreeSizeError,
    call,
    n_parameters,
    next_parameter,
    parameter,
    places,
    put,
    read_tree,
    shift_parameters,
    write_tree,
)
from evodiverse.tasks.equations.skeleton import MAX_PARAMS
from evodiverse.vocabulary import Candidate, Proposal, Request

FAILED: Final = "mutation"
MAX_SIZE: Final = 60
"""Nodes of a child, unless its parent has more."""

TRIES: Final = 20
DEPTH: Final = 4
"""Levels of a random expression."""

CROSSOVER_RATE: Final = 0.3
BETTER_RATE: Final = 0.75
"""How often the better parent is the one that is changed."""

MORE_EDITS: Final = (0.6, 0.25, 0.15)
"""Probabilities of 0, 1 or 2 further edits."""

WRAP_FUNCTION_RATE: Final = 0.3

CROSSOVERS: Final = {"subtree": 1.0, "terms": 1.5}
MUTATIONS: Final = {
    "add_term": 3.0,
    "replace_term": 2.0,
    "remove_term": 0.7,
    "subtree": 1.5,
    "point": 1.5,
    "wrap": 1.0,
    "hoist": 0.5,
    "insert_parameter": 1.0,
    "remove_parameter": 0.5,
}
Edit = Callable[[Node, np.random.Generator], Node | None]


class EquationOperator:
    """Changes a skeleton here and there, now and then after a crossover with another one.

    Args:
        variables: Names, in the order of the arguments.
        positive: Those that are never negative.
    """

    def __init__(self, variables: Sequence[str], positive: frozenset[str]) -> None:
        self._grammar = Grammar(variables, positive)
        self._edits: Mapping[str, Edit] = {
            "add_term": self._add_term,
            "replace_term": self._replace_term,
            "remove_term": self._remove_term,
            "subtree": self._subtree,
            "point": self._point,
            "wrap": self._wrap,
            "hoist": self._hoist,
            "insert_parameter": self._insert_parameter,
            "remove_parameter": self._remove_parameter,
        }

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request; its genotype is a skeleton, or None when no try succeeded.

        Raises:
            ValueError: A request has no parents.
        """
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        if not request.parents:
            raise ValueError("a request must have at least one parent, got none; the mating pool was empty")
        try:
            return self._vary_parents(request)
        except (TreeSizeError, RecursionError) as error:  # a language model's may be
            return Proposal(None, FAILED, f"the parents are too large ({describe(error)})")

    def _vary_parents(self, request: Request) -> Proposal:
        rng = request.stream.rng()
        ranked = sorted(request.parents, key=_score, reverse=True)
        if rng.random() >= BETTER_RATE:
            ranked.reverse()
        parents = [read_tree(parent.genotype) for parent in ranked]
        known = {_simplified(parent.genotype) for parent in ranked}
        largest = max(MAX_SIZE, parents[0].size)
        for _ in range(TRIES):
            tree, names = self._vary(parents, rng)
            tree = simplify(tree)
            is_allowed = tree.size <= largest and n_parameters(tree) <= MAX_PARAMS and tree not in known
            if names and is_allowed and any(True for _ in _at(tree, VARIABLE)):
                return Proposal(write_tree(tree, self._grammar.variables), "+".join(names))
        return Proposal(None, FAILED, f"no allowed child in {TRIES} tries")

    def _vary(self, parents: Sequence[Node], rng: np.random.Generator) -> tuple[Node, list[str]]:
        """Return a child and what was done to make it, which may be nothing."""
        tree, *others = parents
        names: list[str] = []
        n_edits = int(rng.choice(len(MORE_EDITS), p=MORE_EDITS))
        if others and rng.random() < CROSSOVER_RATE:
            kind = pick(CROSSOVERS.items(), rng)
            donor = shift_parameters(others[0], next_parameter(tree))
            tree = _cross_terms(tree, donor, rng) if kind == "terms" else _cross_subtrees(tree, donor, rng)
            names = [f"crossover_{kind}"]
        for _ in range(n_edits if names else n_edits + 1):
            kind = pick(MUTATIONS.items(), rng)
            edited = self._edits[kind](tree, rng)
            if edited is not None:
                tree = edited
                names.append(f"mutation_{kind}")
        return tree, names

    def _add_term(self, tree: Node, rng: np.random.Generator) -> Node:
        first = next_parameter(tree)
        return call("add", tree, call("multiply", parameter(first), self._draw(Kind.REAL, first + 1, rng)))

    def _replace_term(self, tree: Node, rng: np.random.Generator) -> Node | None:
        shorter = self._remove_term(tree, rng)
        return None if shorter is None else self._add_term(shorter, rng)

    def _remove_term(self, tree: Node, rng: np.random.Generator) -> Node | None:
        terms = _terms(tree)
        if len(terms) < 2:
            return None
        at = rng.integers(len(terms))
        return _total([*terms[:at], *terms[at + 1 :]])

    def _subtree(self, tree: Node, rng: np.random.Generator) -> Node:
        path, _, kind = _draw_place(list(places(tree))[1:] or list(places(tree)), rng)
        return put(tree, path, self._draw(kind, next_parameter(tree), rng))

    def _point(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Exchange one operation, variable or number for another of its kind."""
        found = [place for place in places(tree) if place[1].operation not in (PARAMETER, "where")]
        if not found:
            return None
        path, node, kind = _draw_place(found, rng)
        if node.operation in ARITHMETIC:
            return put(tree, path, call(_other(ARITHMETIC, node.operation, rng), *node.arguments))
        if node.operation in FUNCTIONS:
            return put(tree, path, self._grammar.guard(call(_other(FUNCTIONS, node.operation, rng), *node.arguments)))
        if node.operation == VARIABLE:
            return put(tree, path, self._grammar.draw_variable(rng))
        if node.operation == NUMBER:
            return put(tree, path, self._grammar.draw(kind, 1, next_parameter(tree), rng))
        return None

    def _wrap(self, tree: Node, rng: np.random.Generator) -> Node:
        """Put an operation around an expression; what else it needs is random."""
        path, node, _ = _draw_place([place for place in places(tree) if place[2] is Kind.REAL], rng)
        if rng.random() < WRAP_FUNCTION_RATE:
            return put(tree, path, self._grammar.guard(call(_other(FUNCTIONS, node.operation, rng), node)))
        return put(
            tree, path, call(_other(ARITHMETIC, "", rng), node, self._draw(Kind.REAL, next_parameter(tree), rng))
        )

    def _hoist(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Put an expression in the place of one that it is a part of."""
        found = [(path, node, kind) for path, node, kind in places(tree) if node.arguments]
        if not found:
            return None
        path, node, kind = _draw_place(found, rng)
        inner = [part for _, part, other in places(node) if other is kind and part is not node]
        return put(tree, path, inner[rng.integers(len(inner))]) if inner else None

    def _insert_parameter(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Scale an expression, move it by a constant, or raise it to a power."""
        path, node, _ = _draw_place([place for place in places(tree) if place[2] is Kind.REAL], rng)
        free = parameter(next_parameter(tree))
        match rng.integers(5):
            case 0:
                return put(tree, path, self._grammar.guard(call("power", node, free)))
            case 1 | 2:
                return put(tree, path, call("add", node, free))
            case _:
                return put(tree, path, call("multiply", node, free))

    def _remove_parameter(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Put the other argument in the place of an operation with a parameter."""
        found = [
            (path, other)
            for path, node, kind in places(tree)
            if kind is Kind.REAL and len(node.arguments) == 2
            for one, other in (node.arguments, node.arguments[::-1])
            if one.operation == PARAMETER
        ]
        if not found:
            return None
        path, other = found[rng.integers(len(found))]
        return put(tree, path, other)

    def _draw(self, kind: Kind, first: int, rng: np.random.Generator) -> Node:
        return self._grammar.draw(kind, int(rng.integers(2, DEPTH + 1)), first, rng)


@lru_cache(maxsize=4096)
def _simplified(source: str) -> Node:
    return simplify(read_tree(source))


def _cross_subtrees(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    path, _, kind = _draw_place(list(places(tree))[1:] or list(places(tree)), rng)
    given = [node for _, node, other in places(donor) if other is kind]
    return put(tree, path, given[rng.integers(len(given))]) if given else tree


def _cross_terms(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum with one or two terms of another in addition, or in the place of one of its own."""
    terms, given = _terms(tree), _terms(donor)
    n_taken = min(len(given), int(rng.integers(1, 3)))
    if len(terms) > 1 and rng.random() < 0.5:
        del terms[rng.integers(len(terms))]
    return _total([*terms, *(given[at] for at in rng.permutation(len(given))[:n_taken])])


def _terms(tree: Node) -> list[Node]:
    """Return the terms of the sum that a tree is."""
    if tree.operation == "add":
        return [term for argument in tree.arguments for term in _terms(argument)]
    if tree.operation == "subtract":
        left, right = tree.arguments
        return [*_terms(left), *(call("negative", term) for term in _terms(right))]
    return [tree]


def _total(terms: Sequence[Node]) -> Node:
    total = terms[0]
    for term in terms[1:]:
        total = call("add", total, term)
    return total


def _at(tree: Node, operation: str) -> list[Node]:
    return [node for _, node, _ in places(tree) if node.operation == operation]


def _draw_place(
    found: Sequence[tuple[tuple[int, ...], Node, Kind]], rng: np.random.Generator
) -> tuple[tuple[int, ...], Node, Kind]:
    return found[int(rng.integers(len(found)))]


def _other(names: Sequence[str], name: str, rng: np.random.Generator) -> str:
    others = [other for other in names if other != name]
    return others[rng.integers(len(others))]


def _score(candidate: Candidate) -> float:
    return -np.inf if candidate.score is None else candidate.score
