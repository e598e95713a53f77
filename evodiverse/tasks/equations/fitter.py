"""The fit of skeletons, which are equations with free parameters, to the data of a problem, in the sandbox.

Half of a fit's starting points are multiplied by estimates of the magnitude of each parameter, which are called the
parameters' units. The estimates depend on the ranges of the variables.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from math import exp, isfinite, log
from typing import Final, NamedTuple

import numpy as np

from evodiverse.ports import Sandbox
from evodiverse.tasks.equations.in_sandbox import fitting
from evodiverse.tasks.equations.operators.trees import PRODUCTS, SUMS, Node, read_tree
from evodiverse.tasks.equations.problems import FloatArray, Rows
from evodiverse.tasks.equations.settings import HUBER, EquationSettings
from evodiverse.tasks.equations.skeleton import NAME, Skeleton
from evodiverse.vocabulary import Array, Job, Limits, Rejection

ALL: Final = "equations"
"""The name of the function that `define_all` adds to a program."""

_SMALLEST, _LARGEST = 1e-12, 1e12
_SIZES: Final[Mapping[str, Callable[..., float]]] = {
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "sqrt": lambda one: one**0.5,
    "exp": lambda one: exp(min(one, 25.0)),
    "log": lambda one: abs(log(one)) or 1.0,
    **dict.fromkeys(("absolute", "negative"), operator.pos),
}
"""The expected magnitude of an operation's value, given those of its arguments; that of any other operation is 1."""


class Fitted(NamedTuple):
    """The result of a fit.

    Attributes:
        params: ``(n_params,)`` fitted parameters.
        predictions: ``(n,)`` predictions for each split, or None for a split in which a prediction is not finite.
    """

    params: FloatArray
    predictions: tuple[FloatArray | None, ...]


Given = Sequence[Sequence[float] | FloatArray] | None
"""The ``(n_params,)`` parameters of each skeleton, if they are to be used as they are; None to fit all."""


class Fitter:
    """Fits skeletons, which are equations with free parameters, to data.

    Args:
        sandbox: The sandbox that runs the fits.
        names: The names of the variables.
        settings: The settings under ``task``: the method of the fit, its loss, and the limits of each process of the
            sandbox. A process may run several fits.
        splits: The rows to fit, then the rows of each split that no fit sees.
    """

    def __init__(
        self, sandbox: Sandbox, names: Sequence[str], settings: EquationSettings, splits: Sequence[Rows]
    ) -> None:
        weights = splits[0].weights
        self._loss = (None if weights is None else np.sqrt(weights), settings.loss == HUBER)
        self._sandbox = sandbox
        self._splits = splits
        self._method = settings.fit
        self._limits = Limits(settings.timeout, settings.memory)
        self._ranges = find_ranges(names, splits[0].inputs)

    def fit(
        self, skeletons: Sequence[Skeleton], given: Given = None, *, descend: bool = False
    ) -> list[Fitted | Rejection]:
        """Fit the parameters of each skeleton (a candidate equation); return each fit, or the reason why it failed.

        The skeletons share one process, which saves half of the time. If this process fails, each skeleton gets a
        process of its own.

        Args:
            skeletons: The skeletons to fit.
            given: Their parameters, or None; see `Given`.
            descend: Whether to start a fit from the given parameters in place of using them as they are.
        """
        (together,) = self._sandbox.run([self._job(skeletons, given, descend)])
        if together.failure is None:
            parts = iter(together.value)
            return [self._read(*islice(parts, 2 + len(self._splits))) for _ in skeletons]
        if len(skeletons) == 1:
            return [together.failure]
        alone = [(skeletons[at : at + 1], given and given[at : at + 1]) for at in range(len(skeletons))]
        return [fit for one, own in alone for fit in self.fit(one, own, descend=descend)]

    def _job(self, skeletons: Sequence[Skeleton], given: Given, descend: bool) -> Job:
        if given is None:
            units = [find_units(one.source, one.n_params, self._ranges) for one in skeletons]
            parameters = [[one.n_params, one.linear, own] for one, own in zip(skeletons, units, strict=True)]
        else:
            parameters = [[[*map(float, own)], one.linear] for one, own in zip(skeletons, given, strict=True)]
        method = self._method if given is None else f"descend_{self._method}" if descend else "given"
        n_rows = [(len(rows.target),) for rows in self._splits]
        shapes = [shape for one in skeletons for shape in ((one.n_params,), (len(n_rows),), *n_rows)]
        return Job(
            define_all([skeleton.source for skeleton in skeletons]),
            ALL,
            (method, parameters, self._splits[0].target, *self._loss, *(rows.inputs for rows in self._splits)),
            tuple(map(Array, shapes)),
            replace(self._limits, result_bytes=1_000 + 8 * sum(map(sum, shapes))),
            driver=f"from {fitting.__name__} import drive\n",
        )

    @staticmethod
    def _read(params: FloatArray, finite: FloatArray, *predictions: FloatArray) -> Fitted:
        known = (values if is_finite else None for values, is_finite in zip(predictions, finite, strict=True))
        return Fitted(params, tuple(known))


def define_all(sources: Sequence[str]) -> str:
    """Return a program that defines several skeletons, so that one process of the sandbox can run them all.

    A skeleton is an equation, given as the source of a Python function of the variables and the array ``params``. The
    function ``equations`` of the program takes no arguments and returns a list of the skeletons as Python functions, in
    order.
    """
    names = [f"{NAME}_{at}" for at in range(len(sources))]
    renamed = [source.replace(f"def {NAME}(", f"def {name}(", 1) for source, name in zip(sources, names, strict=True)]
    return "\n".join(["import numpy as np", *renamed, f"def {ALL}():\n    return [{', '.join(names)}]\n"])


class Range(NamedTuple):
    """The lowest and the highest value of a variable in the data, and the root mean square of its values."""

    low: float
    high: float
    size: float

    @property
    def scale(self) -> float:
        """The change of the variable that matters: its root mean square, or half its range if that is far smaller."""
        half = (self.high - self.low) / 2
        return half if 0 < half < self.size / 10 else self.size


Unit = tuple[float, ...]
"""A parameter's magnitude; if a sum or difference consists of the parameter and a variable, also two more values.

With these values of the parameter, the sum or difference is 0 at the variable's lowest and highest value.
"""


def find_ranges(names: Sequence[str], inputs: FloatArray) -> dict[str, Range]:
    """Return the range of each variable, by name, in inputs ``(n, variables)``."""
    low, high, size = inputs.min(axis=0), inputs.max(axis=0), np.sqrt(np.mean(inputs**2, axis=0))
    return {name: Range(*map(float, values)) for name, *values in zip(names, low, high, size, strict=True)}


def find_units(source: str, n_params: int, ranges: Mapping[str, Range]) -> list[Unit]:
    """Return the unit of each parameter of a skeleton, in the order of the parameters' numbers.

    A skeleton is an equation with free parameters. The unit of a parameter is an estimate of its magnitude (see
    `Unit`). If the skeleton is too large to analyze, every estimate is 1.

    Args:
        source: The skeleton in canonical form.
        n_params: The number of its parameters.
        ranges: The range of each variable, by name.
    """
    units: dict[int, Unit] = {}
    try:
        _Finder(ranges, units).visit(read_tree(source), 1.0)
    except RecursionError:  # too large to analyze
        units.clear()
    return [units.get(at, (1.0,)) for at in range(n_params)]


class _Finder:
    """Finds the unit of each parameter in the tree of an expression: an estimate of its magnitude (see `Unit`).

    It walks down the tree. For each expression, it estimates the magnitude that the expression must have to matter in
    the sum or product around it.
    """

    def __init__(self, ranges: Mapping[str, Range], units: dict[int, Unit]) -> None:
        self._ranges = ranges
        self._units = units
        self._size = cache(self._measure)

    def visit(self, node: Node, size: float) -> None:
        """Record the units of the parameters in an expression, which are estimates of their magnitudes (see `Unit`).

        The magnitude of the expression itself is expected to be about ``size``.
        """
        if node.operation == "parameter":
            self._units.setdefault(int(node.value), (min(max(size, _SMALLEST), _LARGEST),))
        elif node.operation in SUMS:
            self._visit_sum(node, size)
        elif node.operation in PRODUCTS:
            self._visit_product(node, size)
        elif node.operation == "power":
            base, exponent = node.arguments
            value = float(exponent.value) if exponent.operation == "number" else 1.0
            self.visit(base, _power(size, 1 / value) if value else 1.0)
            self.visit(exponent, 1.0)
        else:
            is_size = node.operation in ("absolute", "negative")
            inner = size if is_size else _power(size, 2) if node.operation == "sqrt" else 1.0
            for argument in node.arguments:
                self.visit(argument, inner)

    def _visit_sum(self, node: Node, size: float) -> None:
        addends = [addend for _, addend in node.flatten(SUMS)]
        size = max(filter(None, map(self._size, addends)), default=size)
        there = self._find_shifted(addends)
        for addend in addends:
            if there is not None and addend.operation == "parameter":
                sign = -1 if node.operation == "add" else 1
                unit = (max(there.scale, _SMALLEST), sign * there.low, sign * there.high)
                self._units.setdefault(int(addend.value), unit)
            else:
                self.visit(addend, size)

    def _find_shifted(self, addends: Sequence[Node]) -> Range | None:
        """Return the range of the variable in a sum of just a variable and a parameter, or None for any other sum."""
        first, *others = sorted(addends, key=lambda addend: addend.operation != "variable")
        is_shift = first.operation == "variable" and [other.operation for other in others] == ["parameter"]
        return self._ranges[str(first.value)] if is_shift else None

    def _visit_product(self, node: Node, size: float) -> None:
        rest, unknown = size, []
        for sign, factor in node.factors():
            known = self._ranges[str(factor.value)].scale if factor.operation == "variable" else self._size(factor)
            if known is None:
                unknown.append((sign, factor))
                continue
            self.visit(factor, known)
            if known:
                rest = rest / known if sign > 0 else rest * known
        is_only = sum(factor.operation == "parameter" for _, factor in unknown) == 1
        for sign, factor in unknown:
            if factor.operation == "parameter" and is_only:
                self.visit(factor, rest if sign > 0 else 1 / max(rest, _SMALLEST))
            else:
                self.visit(factor, 1.0)

    def _measure(self, node: Node) -> float | None:
        """Return the expected magnitude of an expression, or None if a parameter can give it any magnitude."""
        if node.operation == "variable":
            return self._ranges[str(node.value)].size
        if node.operation == "number":
            return abs(float(node.value))
        if node.operation == "parameter":
            return None
        if node.operation in SUMS:
            addends = [addend for _, addend in node.flatten(SUMS)]
            there = self._find_shifted(addends)
            known = [size for size in map(self._size, addends) if size is not None]
            return max(known, default=None) if there is None else (there.high - there.low) / 2
        sizes = [self._size(argument) for argument in node.arguments]
        if None in sizes:
            return None if node.operation in PRODUCTS else 1.0
        try:
            value = _SIZES[node.operation](*sizes)
        except (KeyError, ArithmeticError, ValueError):
            return 1.0
        return value if isfinite(value) else 1.0


def _power(size: float, exponent: float) -> float:
    try:
        return float(size**exponent)
    except ArithmeticError:  # it is too large for a float
        return _LARGEST
