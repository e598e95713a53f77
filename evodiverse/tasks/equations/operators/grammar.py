"""Random expressions, and the factors that laws of nature are made of.

The classical operator, which needs no language model, puts them into skeletons (equations with free parameters).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from math import pi
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.kit.files import read_shipped
from evodiverse.tasks.equations.operators.simplification import is_never_negative
from evodiverse.tasks.equations.operators.trees import Kind, Node, call, draw, number, parameter, read_tree, variable
from evodiverse.tasks.equations.permitted import NO_LIMIT, Permitted
from evodiverse.tasks.equations.skeleton import write_function

_DATA: Final = read_shipped(Path(__file__).with_suffix(".yaml"))
FUNCTIONS: Final = ("sin", "cos", "exp", "log", "sqrt", "tanh", "absolute")
"""The functions of one argument, which may replace each other."""

ARITHMETIC: Final = ("add", "subtract", "multiply", "divide")
_EXPONENTS: Final = {2: 0.4, 3: 0.25, 4: 0.1, 0.5: 0.1, 1.5: 0.05, -1: 0.1}


class Factor(NamedTuple):
    """A kind of factor, such as decay or saturation: a function of an expression x with up to two free parameters.

    Attributes:
        form: The factor of x and the parameters p and q, in Python.
        weight: The relative frequency with which the factor is drawn.
        unit: The unit of ``values``: none (the factor has no parameters), alone (the values are taken as they are),
            sized (in units of the largest size of x), sloped (of one by the width of the range of x), turned (half
            turns over the range), placed (as sloped, with q at five points of the range), or never (the data never
            suggest this factor).
        values: The values of p for which `Guide` compares the factor with the data.
        power: The power of the unit.
    """

    form: str
    weight: float
    unit: str = "none"
    values: Sequence[float] = ()
    power: int = 1

    def source(self) -> str:
        """Return the factor as the source of a function of x, p and q."""
        return write_function(("x", "p", "q"), self.form)

    def grid(self, low: float, high: float) -> list[tuple[float, ...]]:
        """Return the tuples of parameter values to compare, given the lowest and the highest value of x in the data."""
        size, width = max(abs(low), abs(high)) or 1.0, (high - low) or 1.0
        match self.unit:
            case "none":
                return [()]
            case "alone":
                return [(value,) for value in self.values]
            case "sized":
                return [(value * size**self.power,) for value in self.values]
            case "sloped":
                return [(value / width,) for value in self.values]
            case "turned":
                return [*((value * pi / width,) for value in self.values), (1.0,), (2.0,), (3.0,)]
            case "placed":
                places = [low + place * width for place in (0.1, 0.3, 0.5, 0.7, 0.9)]
                return list(product([value / width**self.power for value in self.values], places))
        return []


FACTORS: Final = {name: Factor(**factor) for name, factor in _DATA["factors"].items()}


class Grammar:
    """Draws random expressions of a problem's variables.

    Args:
        variables: The names of the variables.
        positive: The names of variables that are never negative, whose roots and logarithms need no absolute value.
        permitted: The operations that expressions may have.
    """

    def __init__(self, variables: Sequence[str], positive: frozenset[str], permitted: Permitted = NO_LIMIT) -> None:
        self.variables = tuple(variables)
        self.positive = positive
        self._weights = {name: weight for name, weight in _DATA["operations"].items() if permitted.permits(name)}
        self._has_absolute = permitted.permits("absolute")
        self.functions = tuple(filter(permitted.permits, FUNCTIONS))
        """The functions of one argument that expressions may have."""
        self.arithmetic = tuple(filter(permitted.permits, ARITHMETIC))
        """The arithmetic operations that expressions may have."""
        operations = permitted._replace(max_size=None)
        self.factors = {name: one for name, one in FACTORS.items() if operations.find_fault(one.source()) is None}
        """The kinds of factors that expressions may have, by name."""

    def draw(self, kind: Kind, depth: int, first: int, rng: np.random.Generator) -> Node:
        """Draw an expression of this kind; its parameters are numbered from ``first``.

        It is at most ``depth`` levels deep, apart from conditions and the absolute values that `guard` inserts.
        """
        if kind is Kind.EXPONENT:
            is_free = rng.random() < 0.25
            return parameter(first) if is_free else number(pick(_EXPONENTS.items(), rng))
        if kind is Kind.CONDITION:
            return call(draw(("less", "greater"), rng), self.draw_variable(rng), parameter(first))
        if depth <= 1 or not self._weights or rng.random() < 0.35:
            return parameter(first) if rng.random() < 0.3 else self.draw_variable(rng)
        operation = pick(self._weights.items(), rng)
        kinds = {"power": (Kind.REAL, Kind.EXPONENT), "where": (Kind.CONDITION, Kind.REAL, Kind.REAL)}
        arguments = []
        for one in kinds.get(operation, (Kind.REAL,) if operation in FUNCTIONS else (Kind.REAL, Kind.REAL)):
            arguments.append(self.draw(one, depth - 1, first, rng))
            first = max(first, arguments[-1].next_parameter())
        return self.guard(call(operation, *arguments))

    def draw_factor(self, x: Node, first: int, rng: np.random.Generator) -> Node:
        """Draw a kind of factor, and return it as a function of ``x`` with parameters numbered from ``first``."""
        return self.build_factor(pick([(name, one.weight) for name, one in self.factors.items()], rng), x, first)

    def build_factor(self, name: str, x: Node, first: int) -> Node:
        """Return a factor of the given kind as an expression.

        Args:
            name: A key of `FACTORS`.
            x: The expression that the factor is a function of.
            first: The number of the factor's first parameter.
        """
        return self._fill(read_tree(FACTORS[name].source()), {"x": x, "p": parameter(first), "q": parameter(first + 1)})

    def _fill(self, form: Node, parts: Mapping[str | float, Node]) -> Node:
        if form.arguments:
            arguments = [self._fill(argument, parts) for argument in form.arguments]
            if form.operation == "absolute" and is_never_negative(arguments[0], self.positive):
                return arguments[0]
            return self.guard(call(form.operation, *arguments))
        return parts.get(form.value, form)

    def draw_variable(self, rng: np.random.Generator) -> Node:
        """Draw a variable."""
        return variable(draw(self.variables, rng))

    def guard(self, node: Node) -> Node:
        """Return an operation, with the absolute value in place of an argument that must not be negative.

        The argument of a root or a logarithm must not be negative, nor the base of a power whose exponent is not a
        whole number. Such an argument stays as it is if its form shows that it is never negative, or if absolute values
        are not permitted. Any other operation is returned unchanged.
        """
        first, *rest = node.arguments
        is_whole = node.operation == "power" and rest[0].operation == "number" and float(rest[0].value).is_integer()
        is_partial = node.operation in ("log", "sqrt", "power") and not is_whole
        if is_partial and self._has_absolute and not is_never_negative(first, self.positive):
            return call(node.operation, call("absolute", first), *rest)
        return node
