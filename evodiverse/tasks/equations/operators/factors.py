"""The factors that laws of nature are made of: functions of one expression with up to two free parameters."""

from collections.abc import Callable, Iterable
from itertools import product
from math import pi
from typing import Final, NamedTuple

import numpy as np

from evodiverse.kit.choice import pick
from evodiverse.tasks.equations.operators.trees import Node, call, number, parameter

Values = Iterable[tuple[float, ...]]


class Factor(NamedTuple):
    """A kind of factor, such as decay or saturation: a function of one expression with up to two free parameters.

    Attributes:
        build: A function that takes the expression and two parameters, and returns the factor. It need not use both
            parameters.
        weight: The relative frequency with which the factor is drawn.
        grid: A function that `Guide` calls with the lowest and the highest value of a variable. It returns the tuples
            of parameter values for which the guide compares the factor with the data. If it returns none, the data
            never suggest this factor.
    """

    build: Callable[[Node, Node, Node], Node]
    weight: float
    grid: Callable[[float, float], Values] = lambda _low, _high: [()]


def _size(low: float, high: float) -> float:
    return max(abs(low), abs(high)) or 1.0


def _width(low: float, high: float) -> float:
    return (high - low) or 1.0


def _sized(*shares: float, power: int = 1) -> Callable[[float, float], Values]:
    return lambda low, high: [(share * _size(low, high) ** power,) for share in shares]


def _sloped(*shares: float) -> Callable[[float, float], Values]:
    return lambda low, high: [(share / _width(low, high),) for share in shares]


def _placed(*shares: float, power: int = 1) -> Callable[[float, float], Values]:
    """Return a function for `Factor.grid` that combines each of several coefficients with each of five points.

    The function returns pairs of a coefficient and a point in the variable's range. A coefficient is one of the shares
    divided by ``width ** power``, where ``width`` is the width of the range.
    """
    return lambda low, high: [
        (share / _width(low, high) ** power, low + place * _width(low, high))
        for share, place in product(shares, (0.1, 0.3, 0.5, 0.7, 0.9))
    ]


def _turned(low: float, high: float) -> Values:
    return [(turns * pi / _width(low, high),) for turns in (0.5, 1, 1.5, 2, 3, 4, 6)] + [(1.0,), (2.0,), (3.0,)]


def _shifted(x: Node, p: Node) -> Node:
    return call("subtract", x, p)


def _exp(argument: Node) -> Node:
    return call("exp", argument)


def _one_plus(node: Node) -> Node:
    return call("add", number(1), node)


def _over(node: Node) -> Node:
    return call("divide", number(1), node)


def _power(node: Node, exponent: int) -> Node:
    return call("power", node, number(exponent))


def _times(p: Node, node: Node) -> Node:
    return call("multiply", p, node)


# ruff: noqa: ARG005 (each takes both parameters)
FACTORS: Final[dict[str, Factor]] = {
    "itself": Factor(lambda x, p, q: x, 3.0),
    "square": Factor(lambda x, p, q: _power(x, 2), 1.5),
    "cube": Factor(lambda x, p, q: _power(x, 3), 0.7),
    "power": Factor(
        lambda x, p, q: call("power", x, p), 1.5, lambda low, high: [(e,) for e in (-2, -1.5, -0.5, 0.5, 1.5, 2.5)]
    ),
    "inverse": Factor(lambda x, p, q: _over(x), 1.0),
    "root": Factor(lambda x, p, q: call("sqrt", x), 0.7),
    "affine": Factor(lambda x, p, q: call("add", x, p), 1.5, _sized(-1.0, -0.5, 0.3, 1.0)),
    "saturation": Factor(lambda x, p, q: call("divide", x, call("add", x, p)), 1.5, _sized(0.1, 0.3, 1.0)),
    "inhibition": Factor(lambda x, p, q: _over(call("add", x, p)), 1.0, _sized(0.1, 0.3, 1.0)),
    "hill": Factor(
        lambda x, p, q: call("divide", _power(x, 2), call("add", _power(x, 2), p)), 0.7, _sized(0.03, 0.3, power=2)
    ),
    "decay": Factor(lambda x, p, q: _exp(_times(p, x)), 1.5, _sloped(-6.0, -3.0, -1.0, 1.0, 3.0)),
    "arrhenius": Factor(lambda x, p, q: _exp(call("divide", p, x)), 0.8, _sized(-3.0, -1.0, -0.3, 0.3)),
    "sigmoid": Factor(lambda x, p, q: _over(_one_plus(_exp(_times(p, _shifted(x, q))))), 0.7, _placed(-15.0, -6.0)),
    "onset": Factor(lambda x, p, q: call("tanh", _times(p, x)), 0.5, _sloped(1.0, 3.0)),
    "step": Factor(lambda x, p, q: call("tanh", _times(p, _shifted(x, q))), 0.5, _placed(3.0, 8.0)),
    "bell": Factor(lambda x, p, q: _exp(_times(p, _power(_shifted(x, q), 2))), 0.8, _placed(-20.0, -4.0, power=2)),
    "cusp": Factor(lambda x, p, q: _exp(_times(p, call("absolute", _shifted(x, q)))), 0.4, _placed(-6.0, -2.0)),
    "peak": Factor(
        lambda x, p, q: _over(_one_plus(_times(p, _power(_shifted(x, q), 2)))), 0.5, _placed(5.0, 40.0, power=2)
    ),
    "flat_peak": Factor(
        lambda x, p, q: _over(_one_plus(_times(p, _power(_shifted(x, q), 4)))), 0.3, _placed(20.0, 300.0, power=4)
    ),
    "wave": Factor(lambda x, p, q: call("sin", _times(p, x)), 0.8, _turned),
    "cosine": Factor(lambda x, p, q: call("cos", _times(p, x)), 0.6, _turned),
    "shifted_wave": Factor(lambda x, p, q: call("sin", call("add", _times(p, x), q)), 0.6, lambda low, high: []),
    "squared_wave": Factor(
        lambda x, p, q: _power(call("sin", _times(p, _shifted(x, q))), 2), 0.3, _placed(1.5, 3.0, 5.0)
    ),
    "logarithm": Factor(lambda x, p, q: call("log", _one_plus(_times(p, x))), 0.7, _sized(0.5, 3.0, 15.0, power=-1)),
    "parabola": Factor(
        lambda x, p, q: call("add", _times(p, _power(x, 2)), _one_plus(_times(q, x))), 0.4, lambda low, high: []
    ),
}


def build_factor(name: str, x: Node, first: int, guard: Callable[[Node], Node]) -> Node:
    """Return a factor of the given kind as an expression.

    Args:
        name: A key of `FACTORS`.
        x: The expression that the factor is a function of.
        first: The number of the factor's first parameter.
        guard: `Grammar.guard`, which is applied to each operation in the result, so that roots, logarithms and powers
            do not get negative numbers.
    """
    return _guarded(FACTORS[name].build(x, parameter(first), parameter(first + 1)), guard)


def draw_factor(rng: np.random.Generator) -> str:
    """Draw a key of `FACTORS`, each with a probability proportional to its weight."""
    return pick([(name, factor.weight) for name, factor in FACTORS.items()], rng)


def _guarded(node: Node, guard: Callable[[Node], Node]) -> Node:
    if not node.arguments:
        return node
    return guard(call(node.operation, *(_guarded(one, guard) for one in node.arguments)))
