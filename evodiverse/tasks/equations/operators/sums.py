"""An equation as a sum of products: its terms and their factors."""

from collections.abc import Sequence

import numpy as np

from evodiverse.tasks.equations.operators.trees import PRODUCTS, Node, call, number


def find_terms(tree: Node) -> list[Node]:
    """Return the terms of an expression: the addends of a sum, or the expression itself if it is not a sum."""
    if tree.operation == "add":
        return [term for argument in tree.arguments for term in find_terms(argument)]
    if tree.operation == "subtract":
        left, right = tree.arguments
        return [*find_terms(left), *(call("negative", term) for term in find_terms(right))]
    return [tree]


def build_total(terms: Sequence[Node]) -> Node:
    """Return the sum of at least one term."""
    total = terms[0]
    for term in terms[1:]:
        total = call("add", total, term)
    return total


def find_factors(term: Node) -> list[tuple[Node, bool]]:
    """Return the factors of a product, each paired with whether it is above the fraction bar."""
    return [(factor, sign > 0) for sign, factor in term.flatten(PRODUCTS)]


def draw_factor_place(factors: Sequence[tuple[Node, bool]], rng: np.random.Generator) -> int | None:
    """Draw the index of a factor that contains a variable, or return None if there is no such factor."""
    changeable = [place for place, (factor, _) in enumerate(factors) if not factor.is_constant]
    return changeable[rng.integers(len(changeable))] if changeable else None


def build_product(factors: Sequence[tuple[Node, bool]]) -> Node:
    """Return the product of at least one factor, each paired with whether it is above the fraction bar."""
    product: Node | None = None
    for factor, is_above in sorted(factors, key=lambda pair: not pair[1]):
        if product is None:
            product = factor if is_above else call("divide", number(1), factor)
        else:
            product = call("multiply" if is_above else "divide", product, factor)
    if product is None:
        raise ValueError("a product must have at least one factor")
    return product
