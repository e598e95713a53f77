"""Crossovers of two equations, which insert subtrees, terms or factors of one into the other."""

from typing import Final

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.sums import build_product, build_total, find_factors, find_terms
from evodiverse.tasks.equations.operators.trees import (
    Node,
    draw_inner_place,
    next_parameter,
    places,
    put,
    shift_parameters,
)

CROSSOVERS: Final = {"subtree": 1.0, "terms": 1.5, "factors": 1.0}


def cross(tree: Node, other: Node, rng: np.random.Generator) -> tuple[Node, str]:
    """Return a tree with a part of another tree inserted, and the name of the crossover.

    The parameters of this part get new numbers. If the other tree has no suitable part, nothing is inserted.
    """
    kind = pick(CROSSOVERS.items(), rng)
    donor = shift_parameters(other, next_parameter(tree))
    return _CROSS[kind](tree, donor, rng), f"crossover_{kind}"


def _cross_subtrees(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    path, _, kind = draw_inner_place(tree, rng)
    given = [node for _, node, other in places(donor) if other is kind]
    return put(tree, path, given[rng.integers(len(given))]) if given else tree


def _cross_terms(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum with one or two terms of another sum added, possibly in place of one of its own terms."""
    terms, given = find_terms(tree), find_terms(donor)
    n_taken = min(len(given), int(rng.integers(1, 3)))
    if len(terms) > 1 and rng.random() < 0.5:
        del terms[rng.integers(len(terms))]
    return build_total([*terms, *(given[at] for at in rng.permutation(len(given))[:n_taken])])


def _cross_factors(tree: Node, donor: Node, rng: np.random.Generator) -> Node:
    """Return a sum with one of its terms multiplied or divided by a factor from a term of another sum.

    In the changed term, the new factor may take the place of an old one. If no factor of the other sum contains a
    variable, the sum is returned unchanged.
    """
    terms = find_terms(tree)
    at = int(rng.integers(len(terms)))
    given = [pair for term in find_terms(donor) for pair in find_factors(term) if not pair[0].is_constant]
    if not given:
        return tree
    factors = find_factors(terms[at])
    if len(factors) > 1 and rng.random() < 0.5:
        del factors[rng.integers(len(factors))]
    terms[at] = build_product([*factors, given[rng.integers(len(given))]])
    return build_total(terms)


_CROSS: Final = {"subtree": _cross_subtrees, "terms": _cross_terms, "factors": _cross_factors}
