"""Values that show what an equation multiplies each of its linear parameters by.

The equation is a Python function. It is called with these values in place of its linear parameters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Factor: TypeAlias = float | NDArray[np.float64]


class LinearValue:
    """A value that is linear in some parameters.

    If a skeleton (a candidate equation as a function) is called with such values in place of its linear parameters, the
    result says what each of these parameters is multiplied by.

    It supports what a skeleton does with its linear parameters: addition and subtraction, multiplication and division
    by values that do not depend on these parameters, and the choice between two values by `numpy.where`.

    Args:
        offset: The value if all these parameters are 0.
        factors: The factor by which each parameter is multiplied. The keys are the numbers of the parameters.
    """

    __slots__ = ("factors", "offset")
    __array_ufunc__ = None  # an array on the left then leaves the operation to this class

    def __init__(self, offset: Factor, factors: Mapping[int, Factor]) -> None:
        self.offset = offset
        self.factors = factors

    def __add__(self, other: Any) -> "LinearValue":
        if not isinstance(other, LinearValue):
            return LinearValue(_sum(self.offset, other), self.factors)
        factors = dict(self.factors)
        for place, factor in other.factors.items():
            factors[place] = _sum(factors[place], factor) if place in factors else factor
        return LinearValue(_sum(self.offset, other.offset), factors)

    def __mul__(self, other: Factor) -> "LinearValue":
        return self._map(lambda value: _product(value, other))

    def __truediv__(self, other: Factor) -> "LinearValue":
        return self._map(lambda value: value if _is(value, 0.0) else value / other)

    def __neg__(self) -> "LinearValue":
        return self._map(lambda value: -value)

    def __pos__(self) -> "LinearValue":
        return self

    def __sub__(self, other: Any) -> "LinearValue":
        return self.__add__(-other)

    def __rsub__(self, other: Factor) -> "LinearValue":
        return -self + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __array_function__(
        self, function: Callable[..., Any], types: Sequence[type], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Carry out `numpy.where`, the choice between two values; see NumPy Enhancement Proposal 18."""
        if function is not np.where or kwargs:
            return NotImplemented
        condition, *pair = args
        first, second = (value if isinstance(value, LinearValue) else LinearValue(value, {}) for value in pair)
        factors = {
            place: np.where(condition, first.factors.get(place, 0.0), second.factors.get(place, 0.0))
            for place in {**first.factors, **second.factors}
        }
        return LinearValue(np.where(condition, first.offset, second.offset), factors)

    def _map(self, change: Callable[[Factor], Factor]) -> "LinearValue":
        return LinearValue(change(self.offset), {place: change(factor) for place, factor in self.factors.items()})


def _sum(first: Factor, second: Factor) -> Factor:
    return second if _is(first, 0.0) else first if _is(second, 0.0) else first + second


def _product(first: Factor, second: Factor) -> Factor:
    return first if _is(first, 0.0) else second if _is(first, 1.0) else first * second


def _is(value: Factor, number: float) -> bool:
    return isinstance(value, float) and value == number
