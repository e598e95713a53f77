"""Simplification of skeletons (equations with free parameters) to shorter ones that can express the same functions.

Parameters are free to take any value. Therefore, ``params[0] * (params[1] * x)`` expresses no more than
``params[0] * x``, and ``params[0] + np.exp(params[1])`` no more than ``params[0]``. Only a parameter that occurs once
may absorb others.
"""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial, reduce
from typing import Final, NamedTuple

from evodiverse.tasks.equations.operators.trees import PRODUCTS, SIGNED_SUMS, SUMS, Node, call, number

_LARGEST, _LARGEST_EXPONENT = 1e6, 12
_ONE: Final = number(1)
_FOLDED: Final[Mapping[str, Callable[..., float]]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": math.pow,
    "negative": operator.neg,
}
ABSOLUTE: Final = ("absolute", "abs", "fabs")


def simplify(node: Node) -> Node:
    """Return a simplified tree that can express all, or nearly all, functions that this tree can express.

    The sums and products of the result are in canonical order. Functions are lost in one case only. If a free parameter
    is multiplied by a power of a sum, with an exponent that is negative or even, and each term of the sum has a free
    parameter too, the parameter of one term is removed. This term can then no longer be made zero. For example,
    ``params[0] / (params[1] * x + params[2] * y)`` becomes ``params[0] / (x + params[2] * y)``.
    """
    for _ in range(5):
        counts = Counter(node.leaves("parameter"))
        simpler = _Pass({leaf for leaf, count in counts.items() if count == 1}).simplify(node)
        if simpler == node:
            break
        node = simpler
    return node


def factor_out(node: Node) -> Node:
    """Return a tree in which factors with variables that all terms of a sum share stand before this sum."""
    node = Node(node.operation, tuple(map(factor_out, node.arguments)), node.value)
    if node.operation not in SUMS:
        return node
    signs, addends = zip(*node.flatten(SIGNED_SUMS), strict=True)
    terms = [_collect(_factors(addend, 1.0)) for addend in addends]
    shared: dict[Node, float] = {}
    for factor in terms[0]:
        exponents = [term.get(factor, 0.0) for term in terms]
        if not factor.is_constant and (min(exponents) > 0 or max(exponents) < 0):
            shared[factor] = min(exponents, key=abs)
    if not shared:
        return node
    for term in terms:
        term |= {factor: term[factor] - exponent for factor, exponent in shared.items()}
    return _join({**shared, _total(list(zip(signs, map(_join, terms), strict=True))): 1})


class _Term(NamedTuple):
    """A product: a number, possibly a free parameter, and the other factors above and below the fraction bar."""

    number: float
    free: Node | None
    above: tuple[Node, ...]
    below: tuple[Node, ...]


class _Pass:
    """One pass of the simplification over a tree. ``free`` holds the parameters that occur only once."""

    def __init__(self, free: Set[Node]) -> None:
        self._free = free

    def simplify(self, node: Node) -> Node:
        if not node.arguments:
            return node
        is_condition = node.operation.startswith(("less", "greater", "equal", "not_", "logical"))
        if node.is_constant and not is_condition:
            # A free parameter replaces the expression, or else its value does, if it has only numbers.
            node = Node(node.operation, tuple(map(self.simplify, node.arguments)))
            free = next((leaf for leaf in node.leaves("parameter") if leaf in self._free), None)
            value = _fold(node)
            return free or (node if value is None else number(value))
        if node.operation in (*SIGNED_SUMS, *PRODUCTS):
            return self._arithmetic([(sign, self._inside(addend)) for sign, addend in node.flatten(SIGNED_SUMS)])
        node = Node(node.operation, tuple(map(self.simplify, node.arguments)))
        if node.operation == "power":
            return _power(*node.arguments)
        is_needless = node.operation in ABSOLUTE and is_never_negative(node.arguments[0])
        return node.arguments[0] if is_needless else node

    def _inside(self, node: Node) -> Node:
        """Return a product with its factors simplified."""
        if node.operation in (*PRODUCTS, "negative"):
            return Node(node.operation, tuple(map(self._inside, node.arguments)))
        return self.simplify(node)

    def _arithmetic(self, addends: Iterable[tuple[int, Node]]) -> Node:
        """Return the sum of addends, each paired with its sign (1 or -1), with like terms combined."""
        groups: dict[tuple[tuple[Node, ...], tuple[Node, ...]], list[_Term]] = {}
        for sign, addend in addends:
            for part in self._expand(self._term(addend, sign)):
                groups.setdefault((part.above, part.below), []).append(part)
        merged = []
        for terms in groups.values():  # terms that differ only in their coefficients; a free one absorbs the others
            free = next((term for term in terms if term.free is not None), None)
            term = free or terms[0]._replace(number=sum(term.number for term in terms))
            merged += [term] if term.free or term.number else []
        if not merged:
            return number(0)
        merged.sort(key=_rank)
        return _total([(-1 if term.free is None and term.number < 0 else 1, self._build(term)) for term in merged])

    def _term(self, node: Node, sign: int = 1) -> _Term:
        """Return a product times a sign as a number, a free parameter and other factors.

        Equal factors are combined into powers.
        """
        value, free = 1.0, None
        others: list[tuple[Node, float]] = []
        for factor, exponent in self._factors(node):
            if factor.operation == "number" and (factor.value or exponent > 0):
                folded = _fold(call("power", factor, number(exponent)))
                value = math.inf if folded is None else value * folded
            elif factor in self._free:
                free = free or factor
            else:
                others.append((factor, exponent))
        powers = _collect(others)
        for factor in list(powers):
            if factor.operation == "power" and factor.arguments[1] in self._free and powers[factor] == 1:
                powers.pop(factor.arguments[0], None)  # a free exponent absorbs others
        if not math.isfinite(value) or abs(value) > _LARGEST:
            return _Term(sign, None, (node,), ())
        if any(exponent > 0 and exponent % 2 and self._is_scaled(factor) for factor, exponent in powers.items()):
            value, free = 1.0, None  # the sum absorbs the coefficient; under an even power, it could not absorb a sign
        if free is not None:
            powers = {self._unscaled(factor): exponent for factor, exponent in powers.items()}
        elif value == 0:
            powers = {}
        above, below = (tuple(sorted(factors, key=str)) for factors in _split(powers))
        return _Term(sign * (1.0 if free else value), free, above, below)

    def _expand(self, term: _Term) -> list[_Term]:
        """Multiply out a coefficient times a sum, and return the resulting terms.

        A product of another form is returned unchanged. So is a free parameter times a sum in which two or more terms
        have no free parameter of their own, since multiplying it out would take an additional parameter.
        """
        if term.below or len(term.above) != 1 or term.above[0].operation not in SUMS:
            return [term]
        parts = [self._term(addend, sign) for sign, addend in term.above[0].flatten(SIGNED_SUMS)]
        if term.free is None:
            return [part._replace(number=part.number * term.number) for part in parts]
        if sum(part.free is None for part in parts) > 1:
            return [term]
        return [part if part.free else part._replace(free=term.free, number=1.0) for part in parts]

    def _factors(self, node: Node) -> Iterable[tuple[Node, float]]:
        """Yield the factors of a product with their exponents.

        If a free parameter is added to an expression inside ``exp``, the parameter becomes a factor of its own, since
        ``exp(params[0] + x)`` is a constant times ``exp(x)``.
        """
        for factor, exponent in _factors(node, 1.0):
            addends = list(factor.arguments[0].flatten(SIGNED_SUMS)) if factor.operation == "exp" else []
            free = [addend for _, addend in addends if addend in self._free]
            rest = [(sign, addend) for sign, addend in addends if addend not in self._free]
            if free and rest:
                yield call("exp", _total(rest)), exponent
                yield free[0], 1.0
            else:
                yield factor, exponent

    def _unscaled(self, node: Node) -> Node:
        """Remove the parameter of a sum's first term if `_is_scaled` holds; return any other node unchanged."""
        if not self._is_scaled(node):
            return node
        (_, first), *rest = node.flatten(SIGNED_SUMS)
        return _total([(1, self._build(self._term(first)._replace(free=None))), *rest])

    def _is_scaled(self, node: Node) -> bool:
        """Return whether an expression is a sum in which every term has a free parameter as a factor."""
        return node.operation in SUMS and all(self._term(addend).free for _, addend in node.flatten(SIGNED_SUMS))

    def _build(self, term: _Term) -> Node:
        """Return a term without its sign."""
        own = term.free or number(abs(term.number))
        return _divide(term.above if own == _ONE and term.above else (own, *term.above), term.below)


def _join(powers: Mapping[Node, float]) -> Node:
    """Return the product of powers, given the exponent of each base."""
    above, below = _split(powers)
    return _divide(above or [_ONE], below)


def _split(powers: Mapping[Node, float]) -> tuple[list[Node], list[Node]]:
    """Return the powers above and below the fraction bar, given the exponent of each base."""
    above = [_raise(factor, exponent) for factor, exponent in powers.items() if exponent > 0]
    below = [_raise(factor, -exponent) for factor, exponent in powers.items() if exponent < 0]
    return above, below


def _collect(factors: Iterable[tuple[Node, float]]) -> dict[Node, float]:
    """Return the exponent of each base in a product of powers."""
    powers: dict[Node, float] = {}
    for factor, exponent in factors:
        powers[factor] = powers.get(factor, 0.0) + exponent
    return powers


def _divide(above: Sequence[Node], below: Sequence[Node]) -> Node:
    product, *divisor = (reduce(partial(call, "multiply"), factors) for factors in (above, below) if factors)
    return call("divide", product, *divisor) if divisor else product


def _total(addends: Sequence[tuple[int, Node]]) -> Node:
    (first, total), *rest = addends
    total = total if first > 0 else call("negative", total)
    for sign, addend in rest:
        total = call("add" if sign > 0 else "subtract", total, addend)
    return total


def _factors(node: Node, exponent: float) -> Iterable[tuple[Node, float]]:
    """Yield the factors of a product with their exponents, which are whole numbers."""
    if node.operation in PRODUCTS:
        left, right = node.arguments
        yield from _factors(left, exponent)
        yield from _factors(right, exponent if node.operation == "multiply" else -exponent)
    elif node.operation == "negative":
        yield number(-1), exponent
        yield from _factors(node.arguments[0], exponent)
    elif node.operation == "power" and (power := _whole(node.arguments[1])) is not None:
        yield from _factors(node.arguments[0], exponent * power)
    else:
        yield node, exponent


def _rank(term: _Term) -> tuple[bool, int, str]:
    """Return the sort key of a term in a sum: constants last, short terms first."""
    factors = (*term.above, *term.below)
    return not factors, sum(factor.size for factor in factors), " ".join(map(str, factors))


def _raise(factor: Node, exponent: float) -> Node:
    if factor.operation == "sqrt" and exponent % 2 == 0:
        return _raise(factor.arguments[0], exponent / 2)
    return factor if exponent == 1 else call("power", factor, number(exponent))


def _power(base: Node, exponent: Node) -> Node:
    if exponent.operation == "number" and float(exponent.value) in (0.0, 1.0):
        return base if exponent.value else _ONE
    inner = _whole(base.arguments[1]) if base.operation == "power" else None
    outer = _whole(exponent)
    if inner is not None and outer is not None:
        return call("power", base.arguments[0], number(inner * outer))
    return call("power", base, exponent)


def is_never_negative(node: Node, positive: frozenset[str] = frozenset()) -> bool:
    """Return whether the form of an expression shows that it is never negative.

    Args:
        node: The expression.
        positive: The names of variables that are never negative.
    """
    match node.operation:
        case "variable":
            return node.value in positive
        case "number":
            return float(node.value) >= 0
        case "add" | "multiply" | "divide":
            return all(is_never_negative(argument, positive) for argument in node.arguments)
        case "power":
            exponent = _whole(node.arguments[1])
            return (exponent is not None and exponent % 2 == 0) or is_never_negative(node.arguments[0], positive)
    return node.operation in (*ABSOLUTE, "square", "exp", "exp2", "cosh", "sqrt", "constant")


def _whole(node: Node) -> float | None:
    value = float(node.value) if node.operation == "number" else math.nan
    return value if value.is_integer() and abs(value) <= _LARGEST_EXPONENT else None


def _fold(node: Node) -> float | None:
    """Return the value of an operation on numbers; None for any other, or if it has none or should stay as it is."""
    values = [float(argument.value) for argument in node.arguments if argument.operation == "number"]
    is_known = node.operation in _FOLDED and len(values) == len(node.arguments)
    if not is_known or (node.operation == "power" and abs(values[1]) > _LARGEST_EXPONENT):
        return None
    try:
        value = _FOLDED[node.operation](*values)
    except (ArithmeticError, ValueError):
        return None
    return value if abs(value) <= _LARGEST else None
