"""What equations should meet: units that fit together, and constraints on the predictions. Each violation costs."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from evodiverse.errors import InputError
from evodiverse.kit.documented import nearest
from evodiverse.tasks.equations.columns import as_identifier
from evodiverse.tasks.equations.operators.trees import COMPARISONS, CONJUNCTIONS, Node, read_tree
from evodiverse.tasks.equations.permitted import list_in_prompt
from evodiverse.tasks.equations.problems import Dataset, FloatArray
from evodiverse.tasks.equations.settings import ConstraintSettings, EquationSettings

N_POINTS: Final = 256
"""The number of random points in the box around the training data at which constraints are checked."""

_ROUNDING: Final = 1e-9
_FACTOR: Final = re.compile(r"\s*([*/·]?)\s*(1|[^\W\d_]+|[%°]\w*)\s*(?:(?:\^|\*\*)?(-?\d+(?:\.\d+)?))?\s*")
_DERIVED: Final = {
    "N": "kg m s^-2",
    "J": "kg m^2 s^-2",
    "W": "kg m^2 s^-3",
    "Pa": "kg m^-1 s^-2",
    "V": "kg m^2 s^-3 A^-1",
    "C": "A s",
    "Hz": "s^-1",
}
"""Units that are products of others. Units of one quantity, such as kg and g, are different units."""

_SUMS: Final = frozenset(["add", "subtract", "maximum", "minimum", "clip", "mod", "fmod", "hypot"])
_RATIOS: Final = frozenset([*COMPARISONS, "arctan2"])
"""Operations on values of one unit that return no unit."""

_SAME: Final = frozenset(["negative", "positive", "absolute", "abs", "fabs", "floor", "ceil"])
_NO_UNIT: Final = frozenset(["sign", "heaviside", "ones_like", *CONJUNCTIONS])
_POWERS: Final = {"sqrt": 1 / 2, "cbrt": 1 / 3, "square": 2.0, "reciprocal": -1.0}

Unit = tuple[tuple[str, float], ...]
"""The exponent of each unit in a product of units, sorted by their symbols."""

NONE: Final[Unit] = ()


def read_unit(text: str) -> Unit:
    """Return a unit such as kg, m/s, 1/h, kg m^2 or kg m².

    Raises:
        ValueError: The text is not a product of units.
    """
    text = as_identifier(text).replace("\N{MINUS SIGN}", "-")  # so that superscripts are digits
    factors = list(_FACTOR.finditer(text))
    if "".join(factor[0] for factor in factors) != text:
        raise ValueError(f"{text!r} is not a unit; write it like kg, m/s, 1/h or kg*m^2")
    product = NONE
    for sign, symbol, exponent in (factor.groups() for factor in factors):
        one = NONE if symbol in ("1", "%") else read_unit(_DERIVED[symbol]) if symbol in _DERIVED else ((symbol, 1.0),)
        product = _multiply(product, one, float(exponent or 1) * (-1 if sign == "/" else 1))
    return product


def _multiply(one: Unit, other: Unit, exponent: float) -> Unit:
    """Return the product of a unit and a power of another."""
    sums = dict(one)
    for symbol, own in other:
        sums[symbol] = sums.get(symbol, 0.0) + own * exponent
    return tuple(sorted((symbol, round(total, 9)) for symbol, total in sums.items() if abs(total) > _ROUNDING))


def count_misfits(tree: Node, units: Mapping[str, Unit], target: Unit | None) -> int:
    """Return how many operations of an expression join units that do not fit together.

    Free parameters, numbers in sums, and variables without an entry may have any unit.

    Args:
        tree: The expression.
        units: The unit of each variable.
        target: The unit that the expression should have; None for any.
    """
    misfits: list[Node] = []

    def agree(node: Node, parts: Sequence[Node]) -> Unit | None:
        found = [find(part) for part in parts]
        own = {unit for unit, part in zip(found, parts, strict=True) if unit is not None and not part.is_constant}
        if len(own) > 1:
            misfits.append(node)
        return own.pop() if len(own) == 1 else None if own or None in found else NONE

    def find(node: Node) -> Unit | None:
        """Return the unit of an expression; None for any."""
        name, arguments = node.operation, node.arguments
        if not arguments:
            return units.get(str(node.value)) if name == "variable" else None if name == "parameter" else NONE
        if name in _SUMS or name in _RATIOS:
            unit = agree(node, arguments)
            return NONE if name in _RATIOS else unit
        if name == "where":
            find(arguments[0])
            return agree(node, arguments[1:])
        first, *others = [find(argument) for argument in arguments]
        if name in ("multiply", "divide"):
            (other,) = others
            return None if first is None or other is None else _multiply(first, other, 1 if name == "multiply" else -1)
        if name in _SAME or name in _NO_UNIT:
            return first if name in _SAME else NONE
        if name in _POWERS:
            return None if first is None else _multiply(NONE, first, _POWERS[name])
        if name in ("power", "float_power"):
            if others[0]:
                misfits.append(node)
            exponent = arguments[1]
            if first is None or any(exponent.leaves("parameter")) or not exponent.is_constant:
                return NONE if first == NONE else None
            return _multiply(NONE, first, float(exponent.evaluate({}, ())))
        if any((first, *others)):
            misfits.append(node)
        return NONE

    found = find(tree)
    return len(misfits) + (found is not None and target is not None and found != target)


def has_requirements(settings: EquationSettings) -> bool:
    """Return whether a user requires anything of equations."""
    return bool(settings.data.units) or settings.constraints != ConstraintSettings()


def describe(settings: EquationSettings) -> str:
    """Return the constraints as a part of a prompt; empty if there are none."""
    given, lines = settings.constraints, []
    lines += ["Its values are positive."] if given.positive else []
    lines += [f"Its values are at least {given.least:g}."] if given.least is not None else []
    lines += [f"Its values are at most {given.most:g}."] if given.most is not None else []
    lines += [f"It never decreases with {name}." for name in given.increasing or ()]
    lines += [f"It never increases with {name}." for name in given.decreasing or ()]
    lines += ["Units must fit together; a parameter may have any unit."] if settings.data.units else []
    return list_in_prompt("What is known of the formula", lines)


class Requirements:
    """The requirements of a user, for the equations of one set of data.

    Args:
        dataset: The data.
        settings: The settings under ``task``.

    Raises:
        InputError: A setting names a column that is no variable, or a unit that cannot be read.
    """

    def __init__(self, dataset: Dataset, settings: EquationSettings) -> None:
        self._constraints = settings.constraints
        faults: list[str] = []

        def resolve(key: str, name: str, known: Sequence[str] = dataset.names) -> str:
            own = dataset.keys.get(as_identifier(name), name)
            if own not in known:
                faults.append(f"{key}: {name!r} is not a variable; {nearest(name, known)}")
            return own

        self._units: dict[str, Unit] = {}
        for name, text in (settings.data.units or {}).items():
            try:
                own = resolve("task.data.units", name, [*dataset.names, dataset.target.name])
                self._units[own] = read_unit(text)
            except ValueError as error:
                faults.append(f"task.data.units: {error}")
        self._target = self._units.get(dataset.target.name)
        self._trends = [
            (resolve(f"task.constraints.{key}", name), sign)
            for key, sign in (("increasing", 1), ("decreasing", -1))
            for name in getattr(self._constraints, key) or ()
        ]
        if faults:
            raise InputError(*faults)
        draws = np.random.default_rng(0).uniform(size=(2, len(dataset.names), N_POINTS))
        self._points, self._others = (
            {name: _spread(column, one) for (name, column), one in zip(dataset.columns.items(), draw, strict=True)}
            for draw in draws
        )

    def measure(self, source: str, params: Sequence[float]) -> float:
        """Return how much an equation violates.

        Each operation whose units do not fit counts 1, and each broken constraint 1 plus the share of the points at
        which it is broken. An equation that is too large to check counts as one violation.

        Args:
            source: The equation as a skeleton in canonical form.
            params: The values of its parameters.
        """
        try:
            tree = read_tree(source)
            broken = [float(np.mean(flags)) for flags in self._find_broken(tree, params)]
            misfits = count_misfits(tree, self._units, self._target)
        except RecursionError:
            return 1.0
        return misfits + sum(1 + share for share in broken if share)

    def _find_broken(self, tree: Node, params: Sequence[float]) -> list[NDArray[np.bool_]]:
        """Return for each constraint whether it is broken at each of the points; it is where there is no number.

        For a constant, a constraint may have only one flag, for all points.
        """
        given, values = self._constraints, tree.evaluate(self._points, params)
        flags = [~(values > 0)] if given.positive else []
        flags += [~(values >= given.least)] if given.least is not None else []
        flags += [~(values <= given.most)] if given.most is not None else []
        for name, sign in self._trends:
            other = tree.evaluate({**self._points, name: self._others[name]}, params)
            rise = sign * (other - values) * np.sign(self._others[name] - self._points[name])
            flags.append(~(rise >= -_ROUNDING * np.maximum(np.abs(values), np.abs(other))))
        return flags


def _spread(column: FloatArray, shares: FloatArray) -> FloatArray:
    """Return values in the range of a column, given how far along it; of two values, such as 0 and 1, the nearer."""
    low, high = float(column.min()), float(column.max())
    is_binary = len(np.unique(column)) <= 2
    return low + (high - low) * (np.round(shares) if is_binary else shares)
