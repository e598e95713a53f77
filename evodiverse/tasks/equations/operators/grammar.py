"""Random expressions, which the classical operator puts into skeletons (equations with free parameters).

The classical operator is the one that needs no language model.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from evodiverse.tasks.equations.operators.factors import build_factor, draw_factor
from evodiverse.tasks.equations.operators.simplification import is_never_negative
from evodiverse.tasks.equations.operators.trees import Kind, Node, call, number, parameter, variable

# The relative frequency of each operation among expressions that are not leaves.
OPERATIONS: Final = {
    "multiply": 4.0,
    "add": 2.0,
    "subtract": 1.0,
    "divide": 1.5,
    "power": 2.0,
    "sin": 1.0,
    "cos": 1.0,
    "exp": 1.5,
    "log": 0.6,
    "sqrt": 0.5,
    "tanh": 0.6,
    "absolute": 0.4,
    "where": 0.1,
}
FUNCTIONS: Final = ("sin", "cos", "exp", "log", "sqrt", "tanh", "absolute")
"""The functions of one argument, which may replace each other."""

ARITHMETIC: Final = ("add", "subtract", "multiply", "divide")
EXPONENTS: Final = (2, 3, 4, 0.5, 1.5, -1)
_EXPONENT_WEIGHTS: Final = (0.4, 0.25, 0.1, 0.1, 0.05, 0.1)
_COMPARISONS: Final = ("less", "greater")
_LEAF_RATE: Final = 0.35
_PARAMETER_RATE: Final = 0.3
_FREE_EXPONENT_RATE: Final = 0.25


class Grammar:
    """Draws random expressions of a problem's variables.

    Args:
        variables: The names of the variables.
        positive: The names of variables that are never negative, whose roots and logarithms need no absolute value.
    """

    def __init__(self, variables: Sequence[str], positive: frozenset[str]) -> None:
        self.variables = tuple(variables)
        self.positive = positive
        self._operations = list(OPERATIONS)
        self._weights = np.array(list(OPERATIONS.values())) / sum(OPERATIONS.values())

    def draw(self, kind: Kind, depth: int, first: int, rng: np.random.Generator) -> Node:
        """Draw an expression of this kind; its parameters are numbered from ``first``.

        It is at most ``depth`` levels deep, apart from conditions and the absolute values that `guard` inserts.
        """
        node, _ = self._draw(kind, depth, first, rng)
        return node

    def _draw(self, kind: Kind, depth: int, first: int, rng: np.random.Generator) -> tuple[Node, int]:
        """Draw an expression, and return it with the number that the next parameter would get."""
        if kind is Kind.EXPONENT:
            if rng.random() < _FREE_EXPONENT_RATE:
                return parameter(first), first + 1
            return number(EXPONENTS[rng.choice(len(EXPONENTS), p=_EXPONENT_WEIGHTS)]), first
        if kind is Kind.CONDITION:
            comparison = _COMPARISONS[rng.integers(len(_COMPARISONS))]
            return call(comparison, self.draw_variable(rng), parameter(first)), first + 1
        if depth <= 1 or rng.random() < _LEAF_RATE:
            if rng.random() < _PARAMETER_RATE:
                return parameter(first), first + 1
            return self.draw_variable(rng), first
        operation = self._operations[rng.choice(len(self._operations), p=self._weights)]
        kinds = {"power": (Kind.REAL, Kind.EXPONENT), "where": (Kind.CONDITION, Kind.REAL, Kind.REAL)}
        arguments = []
        for one in kinds.get(operation, (Kind.REAL,) if operation in FUNCTIONS else (Kind.REAL, Kind.REAL)):
            argument, first = self._draw(one, depth - 1, first, rng)
            arguments.append(argument)
        return self.guard(call(operation, *arguments)), first

    def draw_factor(self, x: Node, first: int, rng: np.random.Generator) -> Node:
        """Draw a kind of factor, and return it as a function of ``x`` with parameters numbered from ``first``."""
        return build_factor(draw_factor(rng), x, first, self.guard)

    def draw_variable(self, rng: np.random.Generator) -> Node:
        """Draw a variable."""
        return variable(self.variables[rng.integers(len(self.variables))])

    def guard(self, node: Node) -> Node:
        """Return an operation, with the absolute value in place of an argument that must not be negative.

        The argument of a root or a logarithm must not be negative, nor the base of a power whose exponent is not a
        whole number. Such an argument stays as it is if its form shows that it is never negative. Any other operation
        is returned unchanged.
        """
        first, *rest = node.arguments
        is_partial = node.operation in ("log", "sqrt") or (node.operation == "power" and not _is_whole(rest[0]))
        if is_partial and not is_never_negative(first, self.positive):
            return call(node.operation, call("absolute", first), *rest)
        return node


def _is_whole(exponent: Node) -> bool:
    return exponent.operation == "number" and float(exponent.value).is_integer()
