"""Random expressions, and the factors that laws of nature are made of.

The classical operator, which needs no language model, puts them into skeletons (equations with free parameters).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import pi
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.simplification import is_never_negative
from evodiverse.tasks.equations.operators.trees import Kind, Node, call, number, parameter, read_tree, variable
from evodiverse.tasks.equations.skeleton import write_function

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

Grid = Callable[[float, float], Iterable[tuple[float, ...]]]


def _size(low: float, high: float) -> float:
    return max(abs(low), abs(high)) or 1.0


def _width(low: float, high: float) -> float:
    return (high - low) or 1.0


def _sized(*shares: float, power: int = 1) -> Grid:
    return lambda low, high: [(share * _size(low, high) ** power,) for share in shares]


def _sloped(*shares: float) -> Grid:
    return lambda low, high: [(share / _width(low, high),) for share in shares]


def _placed(*shares: float, power: int = 1) -> Grid:
    """Return a function for `Factor.grid` that combines each of several coefficients with each of five points.

    The function returns pairs of a coefficient and a point in the variable's range. A coefficient is one of the shares
    divided by ``width ** power``, where ``width`` is the width of the range.
    """
    return lambda low, high: [
        (share / _width(low, high) ** power, low + place * _width(low, high))
        for share, place in product(shares, (0.1, 0.3, 0.5, 0.7, 0.9))
    ]


def _alone(*values: float) -> Grid:
    return lambda low, high: [(value,) for value in values]  # noqa: ARG005 (the same in any range)


def _turned(low: float, high: float) -> Iterable[tuple[float, ...]]:
    return [(turns * pi / _width(low, high),) for turns in (0.5, 1, 1.5, 2, 3, 4, 6)] + [(1.0,), (2.0,), (3.0,)]


class Factor(NamedTuple):
    """A kind of factor, such as decay or saturation: a function of one expression with up to two free parameters.

    Attributes:
        form: The factor of the expression x and the parameters p and q, in Python.
        weight: The relative frequency with which the factor is drawn.
        grid: A function that `Guide` calls with the lowest and the highest value of a variable. It returns the tuples
            of parameter values for which the guide compares the factor with the data. If it returns none, the data
            never suggest this factor.
    """

    form: str
    weight: float
    grid: Grid = lambda _low, _high: [()]


FACTORS: Final = {
    "itself": Factor("x", 3.0),
    "square": Factor("x**2", 1.5),
    "cube": Factor("x**3", 0.7),
    "power": Factor("x**p", 1.5, _alone(-2, -1.5, -0.5, 0.5, 1.5, 2.5)),
    "inverse": Factor("1 / x", 1.0),
    "root": Factor("np.sqrt(x)", 0.7),
    "affine": Factor("x + p", 1.5, _sized(-1.0, -0.5, 0.3, 1.0)),
    "saturation": Factor("x / (x + p)", 1.5, _sized(0.1, 0.3, 1.0)),
    "inhibition": Factor("1 / (x + p)", 1.0, _sized(0.1, 0.3, 1.0)),
    "hill": Factor("x**2 / (x**2 + p)", 0.7, _sized(0.03, 0.3, power=2)),
    "decay": Factor("np.exp(p * x)", 1.5, _sloped(-6.0, -3.0, -1.0, 1.0, 3.0)),
    "arrhenius": Factor("np.exp(p / x)", 0.8, _sized(-3.0, -1.0, -0.3, 0.3)),
    "sigmoid": Factor("1 / (1 + np.exp(p * (x - q)))", 0.7, _placed(-15.0, -6.0)),
    "onset": Factor("np.tanh(p * x)", 0.5, _sloped(1.0, 3.0)),
    "step": Factor("np.tanh(p * (x - q))", 0.5, _placed(3.0, 8.0)),
    "bell": Factor("np.exp(p * (x - q)**2)", 0.8, _placed(-20.0, -4.0, power=2)),
    "cusp": Factor("np.exp(p * np.absolute(x - q))", 0.4, _placed(-6.0, -2.0)),
    "peak": Factor("1 / (1 + p * (x - q)**2)", 0.5, _placed(5.0, 40.0, power=2)),
    "flat_peak": Factor("1 / (1 + p * (x - q)**4)", 0.3, _placed(20.0, 300.0, power=4)),
    "wave": Factor("np.sin(p * x)", 0.8, _turned),
    "cosine": Factor("np.cos(p * x)", 0.6, _turned),
    "shifted_wave": Factor("np.sin(p * x + q)", 0.6, _alone()),
    "squared_wave": Factor("np.sin(p * (x - q))**2", 0.3, _placed(1.5, 3.0, 5.0)),
    "logarithm": Factor("np.log(1 + p * x)", 0.7, _sized(0.5, 3.0, 15.0, power=-1)),
    "parabola": Factor("p * x**2 + (1 + q * x)", 0.4, _alone()),
}


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
        return self.build_factor(pick([(name, one.weight) for name, one in FACTORS.items()], rng), x, first)

    def build_factor(self, name: str, x: Node, first: int) -> Node:
        """Return a factor of the given kind as an expression.

        Args:
            name: A key of `FACTORS`.
            x: The expression that the factor is a function of.
            first: The number of the factor's first parameter.
        """
        form = read_tree(write_function(("x", "p", "q"), FACTORS[name].form))
        return self._fill(form, {"x": x, "p": parameter(first), "q": parameter(first + 1)})

    def _fill(self, form: Node, parts: Mapping[str | float, Node]) -> Node:
        if form.arguments:
            return self.guard(call(form.operation, *(self._fill(argument, parts) for argument in form.arguments)))
        return parts.get(form.value, form)

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
