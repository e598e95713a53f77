"""The classical operator of equations: typed genetic programming on skeletons, without a language model."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from evodiverse.errors import describe
from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.factors import build_factor
from evodiverse.tasks.equations.operators.grammar import ARITHMETIC, FUNCTIONS, Grammar
from evodiverse.tasks.equations.operators.guidance import FloatArray, Guide, Suggestion
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import (
    NUMBER,
    PARAMETER,
    VARIABLE,
    Kind,
    Node,
    TreeSizeError,
    call,
    leaves,
    n_parameters,
    next_parameter,
    number,
    parameter,
    places,
    put,
    read_tree,
    shift_parameters,
    variable,
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
SAME_VARIABLE_RATE: Final = 0.7
SNAP_EXPONENT, SNAP, LARGEST_FRACTION = 0.1, 0.003, 12
"""How near a parameter must be to a small fraction, relative to its size, and how large that may be."""

MAX_FACTORS: Final = 3
"""Of a new term."""

CROSSOVERS: Final = {"subtree": 1.0, "terms": 1.5, "factors": 1.0}
MUTATIONS: Final = {
    "multiply_factor": 4.0,
    "replace_factor": 3.0,
    "remove_factor": 0.7,
    "add_product": 2.0,
    "add_term": 1.5,
    "replace_term": 2.0,
    "remove_term": 0.7,
    "subtree": 1.5,
    "point": 1.5,
    "wrap": 1.0,
    "hoist": 0.5,
    "insert_parameter": 1.0,
    "remove_parameter": 0.5,
}
GUIDED: Final = {
    "term": 1.5,
    "product": 2.0,
    "fresh": 0.5,
    "multiply": 3.0,
    "replace": 2.0,
    "exchange": 3.0,
    "prune": 1.0,
    "snap": 0.7,
}
PRODUCT_RATE: Final = 0.5
GUIDED_RATE: Final = 0.5
"""How often the data say what is done first."""

Edit = Callable[[Node, np.random.Generator], Node | None]
GuidedEdit = Callable[[Node, Sequence[float], np.random.Generator], Node | None]


class EquationOperator:
    """Changes a skeleton here and there, now and then after a crossover with another one.

    Args:
        variables: Names, in the order of the arguments.
        positive: Those that are never negative.
        inputs: ``(n, variables)``, what equations are fitted to.
        target: ``(n,)``.
    """

    def __init__(
        self, variables: Sequence[str], positive: frozenset[str], inputs: FloatArray, target: FloatArray
    ) -> None:
        self._grammar = Grammar(variables, positive)
        self._guide = Guide(variables, inputs, target, self._grammar.guard)
        self._guided: Mapping[str, GuidedEdit] = {
            "term": self._add_suggested_term,
            "product": self._add_suggested_product,
            "fresh": self._begin_afresh,
            "multiply": self._multiply_suggested,
            "replace": self._replace_suggested,
            "exchange": self._exchange,
            "prune": self._prune,
            "snap": _snap,
        }
        self._edits: Mapping[str, Edit] = {
            "multiply_factor": self._multiply_factor,
            "replace_factor": self._replace_factor,
            "remove_factor": self._remove_factor,
            "add_product": self._add_product,
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
        params = _read_params(ranked[0])
        known = {_simplified(parent.genotype) for parent in ranked}
        largest = max(MAX_SIZE, parents[0].size)
        for _ in range(TRIES):
            tree, names = self._vary(parents, params, rng)
            tree = simplify(tree)
            is_allowed = tree.size <= largest and n_parameters(tree) <= MAX_PARAMS and tree not in known
            if names and is_allowed and any(True for _ in _at(tree, VARIABLE)):
                return Proposal(write_tree(tree, self._grammar.variables), "+".join(names))
        return Proposal(None, FAILED, f"no allowed child in {TRIES} tries")

    def _vary(
        self, parents: Sequence[Node], params: Sequence[float] | None, rng: np.random.Generator
    ) -> tuple[Node, list[str]]:
        """Return a child and what was done to make it, which may be nothing.

        Args:
            parents: The first is changed.
            params: The fitted ones of the first, None where they are not known.
            rng: Consumed as often as needed.
        """
        tree, *others = parents
        names: list[str] = []
        if params is not None and rng.random() < GUIDED_RATE:
            kind = pick(GUIDED.items(), rng)
            edited = self._guided[kind](tree, params, rng)
            return (tree, []) if edited is None else (edited, [f"guided_{kind}"])
        n_edits = int(rng.choice(len(MORE_EDITS), p=MORE_EDITS))
        if others and rng.random() < CROSSOVER_RATE:
            kind = pick(CROSSOVERS.items(), rng)
            donor = shift_parameters(others[0], next_parameter(tree))
            tree = _CROSS[kind](tree, donor, rng)
            names = [f"crossover_{kind}"]
        for _ in range(n_edits if names else n_edits + 1):
            kind = pick(MUTATIONS.items(), rng)
            edited = self._edits[kind](tree, rng)
            if edited is not None:
                tree = edited
                names.append(f"mutation_{kind}")
        return tree, names

    def _values(self, terms: Sequence[Node], params: Sequence[float]) -> list[FloatArray]:
        return [self._guide.evaluate(term, params) for term in terms]

    def _build(self, suggestion: Suggestion, first: int) -> Node:
        return build_factor(suggestion.factor, variable(suggestion.variable), first, self._grammar.guard)

    def _add_suggested_term(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Add a factor that explains much of what is left."""
        found = self._guide.suggest(self._values(_terms(tree), params), None, rng)
        if found is None:
            return None
        first = next_parameter(tree)
        return call("add", tree, call("multiply", parameter(first), self._build(found[0], first + 1)))

    def _add_suggested_product(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Add a product of factors that explains much of what is left."""
        term = self._suggest_product(next_parameter(tree), self._values(_terms(tree), params), rng)
        return None if term is None else call("add", tree, term)

    def _begin_afresh(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:  # noqa: ARG002
        """Return a product of factors that explains much by itself."""
        return self._suggest_product(0, [], rng)

    def _suggest_product(self, first: int, others: Sequence[FloatArray], rng: np.random.Generator) -> Node | None:
        """Return a scaled product of factors, one chosen after the other, that explains much of what others leave."""
        term, scale = parameter(first), None
        for _ in range(int(rng.integers(2, MAX_FACTORS + 2))):
            found = self._guide.suggest(others, scale, rng)
            if found is None:
                break
            suggestion, scale = found
            term = call("multiply", term, self._build(suggestion, next_parameter(term)))
        return term if term.arguments else None

    def _multiply_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Multiply a term by a factor with which it explains much of what the others leave."""
        terms = _terms(tree)
        at = int(rng.integers(len(terms)))
        values = self._values(terms, params)
        found = self._guide.suggest([*values[:at], *values[at + 1 :]], values[at], rng)
        if found is None:
            return None
        terms[at] = call("multiply", terms[at], self._build(found[0], next_parameter(tree)))
        return _total(terms)

    def _replace_suggested(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Put a factor in the place of one of a term's, such that it explains much of what the others leave."""
        terms = _terms(tree)
        at = int(rng.integers(len(terms)))
        factors = _factors(terms[at])
        changeable = [place for place, (factor, _) in enumerate(factors) if not factor.is_constant]
        if not changeable:
            return None
        del factors[changeable[rng.integers(len(changeable))]]
        rest = _product(factors) if factors else parameter(next_parameter(tree))
        scale = self._guide.evaluate(rest, params) if factors else None
        values = self._values(terms, params)
        found = self._guide.suggest([*values[:at], *values[at + 1 :]], scale, rng)
        if found is None:
            return None
        terms[at] = call("multiply", rest, self._build(found[0], next_parameter(tree) + 1))
        return _total(terms)

    def _prune(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:  # noqa: ARG002
        """Remove the term that the others can best do without, and each that is of no use."""
        terms = _terms(tree)
        if len(terms) < 2:
            return None
        return _total([terms[at] for at in self._guide.find_needed(self._values(terms, params))])

    def _exchange(self, tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
        """Put what explains much of what is left in the place of the term that the others can best do without."""
        shorter = self._prune(tree, params, rng)
        if shorter is None:
            return None
        add = self._add_suggested_product if rng.random() < PRODUCT_RATE else self._add_suggested_term
        return add(shorter, params, rng)

    def _add_product(self, tree: Node, rng: np.random.Generator) -> Node:
        """Add a product of factors of different variables."""
        first = next_parameter(tree)
        term = parameter(first)
        names = self._grammar.variables
        n_factors = min(int(rng.integers(1, MAX_FACTORS + 1)), len(names))
        for at in rng.permutation(len(names))[:n_factors].tolist():
            term = call("multiply", term, self._grammar.draw_factor(variable(names[at]), next_parameter(term), rng))
        return call("add", tree, term)

    def _multiply_factor(self, tree: Node, rng: np.random.Generator) -> Node:
        """Multiply a term by a factor."""
        terms = _terms(tree)
        at = int(rng.integers(len(terms)))
        factor = self._grammar.draw_factor(self._grammar.draw_variable(rng), next_parameter(tree), rng)
        terms[at] = call("multiply", terms[at], factor)
        return _total(terms)

    def _replace_factor(self, tree: Node, rng: np.random.Generator) -> Node | None:
        """Put a factor in the place of one of a term's, mostly of the same variable."""
        terms = _terms(tree)
        at = int(rng.integers(len(terms)))
        factors = _factors(terms[at])
        places_of = [place for place, (factor, _) in enumerate(factors) if not factor.is_constant]
        if not places_of:
            return None
        place = places_of[rng.integers(len(places_of))]
        names = sorted({str(leaf.value) for leaf in leaves(factors[place][0], VARIABLE)})
        same = variable(names[rng.integers(len(names))])
        x = same if rng.random() < SAME_VARIABLE_RATE else self._grammar.draw_variable(rng)
        factors[place] = (self._grammar.draw_factor(x, next_parameter(tree), rng), True)
        terms[at] = _product(factors)
        return _total(terms)

    def _remove_factor(self, tree: Node, rng: np.random.Generator) -> Node | None:
        terms = _terms(tree)
        at = int(rng.integers(len(terms)))
        factors = _factors(terms[at])
        if len(factors) < 2:
            return None
        del factors[rng.integers(len(factors))]
        terms[at] = _product(factors)
        return _total(terms)

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


def _snap(tree: Node, params: Sequence[float], rng: np.random.Generator) -> Node | None:
    """Put a small fraction in the place of a parameter that is nearly one."""
    near: dict[str | float, float] = {}
    for _, node, kind in places(tree):
        if node.operation == PARAMETER:
            value = params[int(node.value)]
            fraction = _nearest_fraction(value)
            within = SNAP_EXPONENT if kind is Kind.EXPONENT else SNAP
            if abs(value) <= LARGEST_FRACTION and abs(value - fraction) <= within * max(abs(value), 0.5):
                near[node.value] = fraction
    if not near:
        return None
    chosen = list(near)[rng.integers(len(near))]
    return _substitute(tree, chosen, number(near[chosen]))


def _nearest_fraction(value: float) -> float:
    """Return the nearest multiple of a half or a third."""
    return min(round(value * 2) / 2, round(value * 3) / 3, key=lambda fraction: abs(value - fraction))


def _substitute(node: Node, value: str | float, new: Node) -> Node:
    """Return a tree with an expression in the place of a parameter."""
    if node.operation == PARAMETER:
        return new if node.value == value else node
    if not node.arguments:
        return node
    return call(node.operation, *(_substitute(argument, value, new) for argument in node.arguments))


def _read_params(parent: Candidate) -> list[float] | None:
    """Return the fitted parameters of a parent, None where the log has none."""
    text = parent.details.get("params")
    return None if text is None else [float(value) for value in json.loads(str(text))]


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


def _cross_factors(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum, one of whose terms is multiplied by a factor of another's, perhaps in the place of its own."""
    terms = _terms(tree)
    at = int(rng.integers(len(terms)))
    given = [pair for term in _terms(donor) for pair in _factors(term) if not pair[0].is_constant]
    if not given:
        return tree
    factors = _factors(terms[at])
    if len(factors) > 1 and rng.random() < 0.5:
        del factors[rng.integers(len(factors))]
    terms[at] = _product([*factors, given[rng.integers(len(given))]])
    return _total(terms)


_CROSS: Final = {"subtree": _cross_subtrees, "terms": _cross_terms, "factors": _cross_factors}


def _factors(term: Node, *, above: bool = True) -> list[tuple[Node, bool]]:
    """Return the factors of a product, each with whether it is above the line."""
    if term.operation == "multiply":
        return [pair for argument in term.arguments for pair in _factors(argument, above=above)]
    if term.operation == "divide":
        dividend, divisor = term.arguments
        return [*_factors(dividend, above=above), *_factors(divisor, above=not above)]
    return [(term, above)]


def _product(factors: Sequence[tuple[Node, bool]]) -> Node:
    product: Node | None = None
    for factor, is_above in sorted(factors, key=lambda pair: not pair[1]):
        if product is None:
            product = factor if is_above else call("divide", number(1), factor)
        else:
            product = call("multiply" if is_above else "divide", product, factor)
    if product is None:
        raise ValueError("a product has at least one factor")
    return product


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
