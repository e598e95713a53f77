"""The classical operator for equations, which needs no language model: typed genetic programming.

It works on skeletons, which are equations with free parameters.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from evodiverse.errors import describe
from evodiverse.tasks.equations.operators.grammar import Grammar
from evodiverse.tasks.equations.operators.guided import Guide
from evodiverse.tasks.equations.operators.mutations import Mutations, cross
from evodiverse.tasks.equations.operators.simplification import simplify
from evodiverse.tasks.equations.operators.trees import Node, read_tree, write_tree
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.problems import FloatArray
from evodiverse.tasks.equations.skeleton import MAX_PARAMS
from evodiverse.vocabulary import Candidate, Proposal, Request

FAILED: Final = "mutation"
MAX_SIZE: Final = 60
"""The largest number of nodes of a child, unless its parent has more."""

TRIES: Final = 20
CROSSOVER_RATE: Final = 0.3
BETTER_RATE: Final = 0.75
"""The probability that the better parent is the one that is changed."""

MORE_EDITS: Final = (0.6, 0.25, 0.15)
"""The probabilities of 0, 1 and 2 edits after the first one, which may be a crossover."""

GUIDED_RATE: Final = 0.5
"""The probability of an edit that the data suggest, instead of random edits, if the parent has fitted parameters."""


class EquationOperator:
    """Makes a child of a parent, which is an equation with free parameters (a skeleton).

    The child is made by one or more edits to the parent; the first may be a crossover with another parent.

    Args:
        variables: The names of the variables, in the order of an equation's arguments.
        positive: The names of the variables that are never negative.
        inputs: ``(n, variables)`` inputs of the rows that equations are fitted to.
        target: ``(n,)`` target of these rows.
        permitted: The limits on children.
    """

    def __init__(
        self,
        variables: Sequence[str],
        positive: frozenset[str],
        inputs: FloatArray,
        target: FloatArray,
        permitted: Permitted = NO_LIMIT,
    ) -> None:
        self._permitted = permitted
        self._grammar = Grammar(variables, positive, permitted)
        self._mutations = Mutations(self._grammar)
        self._guided = Guide(variables, inputs, target, self._grammar)

    def propose(self, requests: Sequence[Request]) -> list[Proposal]:
        """Return one proposal per request, whose genotype is a child: an equation with free parameters.

        The genotype is None if no allowed child was found. An allowed child has a variable and at most `MAX_PARAMS`
        parameters, is not too large (see `MAX_SIZE`), is permitted, and differs from its parents.

        Raises:
            ValueError: A request has no parents.
        """
        return [self._propose(request) for request in requests]

    def _propose(self, request: Request) -> Proposal:
        try:
            return self._vary_parents(request)
        except RecursionError as error:  # parents from a language model may be that large
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
            is_allowed = tree.size <= largest and tree.n_parameters() <= MAX_PARAMS and tree not in known
            if names and is_allowed and not tree.is_constant:
                source = write_tree(tree, self._grammar.variables)
                if self._permitted.find_fault(source) is None:
                    return Proposal(source, "+".join(names))
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
            edited, name = self._mutations.mutate(tree, rng)
            if edited is not None:
                tree = edited
                names.append(name)
        return tree, names


def _read_params(parent: Candidate) -> list[float] | None:
    """Return the fitted parameters of a parent, or None if they are not known."""
    text = parent.details.get("params")
    return None if text is None else [float(value) for value in json.loads(str(text))]


@lru_cache(maxsize=4096)
def _simplified(source: str) -> Node:
    return simplify(read_tree(source))


def _score(candidate: Candidate) -> float:
    return -np.inf if candidate.score is None else candidate.score
