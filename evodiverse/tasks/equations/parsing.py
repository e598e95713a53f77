"""The parser of equations, the one place that decides whether two equations of a search are the same.

To compare equations that differ, it also finds their terms and subexpressions, regardless of constants.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from evodiverse.tasks.equations.operators.trees import PRODUCTS, SIGNED_SUMS, Node, read_tree
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.skeleton import SkeletonError, read_skeleton
from evodiverse.vocabulary import Hypothesis, Reason, Rejection

_CONSTANT: Final = "c"
_PRODUCTS: Final = {**PRODUCTS, "negative": (1,)}


def parse_equation(text: str, variables: Sequence[str], permitted: Permitted = NO_LIMIT) -> Hypothesis | Rejection:
    """Return the equation that a Python program defines, or the reason for its rejection.

    The equation is returned in canonical form, as the source of one function. The key is the SHA-256 of this source.
    """
    try:
        source = read_skeleton(text, variables).source
    except SkeletonError as error:
        return Rejection(Reason.UNPARSABLE, str(error))
    if (fault := permitted.find_fault(source)) is not None:
        return Rejection(Reason.UNPARSABLE, fault)
    return Hypothesis(source, hashlib.sha256(source.encode()).hexdigest())


@lru_cache(maxsize=20_000)
def find_terms(source: str) -> frozenset[str]:
    """Return the terms of a skeleton in canonical form: the addends of the expression that it returns.

    Constant factors are left out, also in the subexpressions of a term. Other constants are written as ``c``, except
    for numbers in exponents. The order of sums and products makes no difference. A constant addend is not a term unless
    there is nothing else. If the skeleton is too large to compare, its source is the only term.
    """
    try:
        tree = read_tree(source)
        terms = {_spell(addend) for _, addend in tree.flatten(SIGNED_SUMS)}
    except RecursionError:  # too large to compare
        return frozenset({source})
    return frozenset(terms - {_CONSTANT}) or frozenset({_CONSTANT})


@lru_cache(maxsize=20_000)
def count_parts(source: str) -> Mapping[str, int]:
    """Return how often each subexpression with a variable occurs in an equation, by the text of the subexpression.

    The equation is given as a skeleton, the source of a Python function of the variables and the array ``params``. The
    skeleton is in canonical form, as `read_skeleton` writes it. Subexpressions are written like the terms of
    `find_terms`. If the skeleton is too large to compare, its source is the only key, with count 1.
    """
    try:
        return Counter(_spell(part) for _, part, _ in read_tree(source).places() if not part.is_constant)
    except RecursionError:
        return {source: 1}


def _spell(node: Node) -> str:
    if node.is_constant:
        return _CONSTANT
    if node.operation == "variable":
        return str(node.value)
    if node.operation in SIGNED_SUMS:
        terms = sorted({_spell(addend) for _, addend in node.flatten(SIGNED_SUMS)})
        return terms[0] if len(terms) == 1 else f"({' + '.join(terms)})"
    if node.operation in PRODUCTS:
        factors = [(sign, factor) for sign, factor in node.flatten(_PRODUCTS) if not factor.is_constant]
        above, below = (sorted(_spell(factor) for own, factor in factors if own == sign) for sign in (1, -1))
        return "*".join([*above, *(f"/{factor}" for factor in below)])
    if node.operation == "power":
        base, exponent = node.arguments
        sign, leaf = ("-", exponent.arguments[0]) if exponent.operation == "negative" else ("", exponent)
        written = f"{sign}{leaf.value}" if leaf.operation == "number" else _spell(exponent)
        return f"{_spell(base)}**{written}"
    return f"{node.operation}({','.join(map(_spell, node.arguments))})"
