"""The common parts of the tasks whose results are measured in exact arithmetic, without any tolerance."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np

from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Placing, Scored, Verified, disproved, tell_place, to_json
from evodiverse.vocabulary import Job, OwnColumn, Reason, Rejection, column_types

MOST_STEPS: Final = 2_000
PLACES: Final = 60
"""Heights are cut to this number of binary places below the largest, so that exact products remain short."""


class Exact(Placing):
    """The evaluator of a task whose results are measured in exact arithmetic.

    The score is value / reference, or reference / value if smaller values are better. The value is logged as ``value``,
    rounded to a float: down, or up if smaller values are better. The result is logged as JSON, exact to the last bit,
    so that the value can be verified from the log alone.

    Attributes:
        result: The name of the column of the result, and of its file in ``best/``.
        title: The title of pictures, with the field ``{n}`` for ``task.n``.
        is_larger_better: Whether larger values are better.
        measure: The function that returns the exact value of the quantity for a given result. It raises ValueError if
            the result is invalid.
    """

    result: ClassVar[str]
    title: ClassVar[str]
    is_larger_better: bool
    measure: Callable[[Any], Fraction]

    def read(self, value: Any) -> Any:
        """Return the result that a program returned, as JSON can express it.

        Raises:
            ValueError: It does not have the form that the task asks for.
        """
        return value

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of a result, or the reason why it is invalid."""
        try:
            result = self.read(value)
            exact = self.measure(result)
        except ValueError as error:
            return Rejection(Reason.INVALID, str(error))
        if exact > sys.float_info.max:
            return Rejection(Reason.INVALID, f"the {self.quantity} is too large for a float")
        measured = self._round(exact)
        score = measured / self._reference if self.is_larger_better else self._reference / measured
        return Scored(score, {"value": measured, self.result: json.dumps(result, separators=(",", ":"))})

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the result and the value of a candidate as a JSON file."""
        content = {self.result: self.find_result(discovery), "value": discovery.details["value"]}
        return {f"{self.result}.json": to_json(content)}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value of the logged result.

        Raises:
            ServiceError: The logged value is different, or the result is invalid.
        """
        try:
            exact = self.measure(self.find_result(discovery))
        except ValueError as error:
            raise disproved(discovery, str(error)) from error
        if self._round(exact) != discovery.details["value"]:
            raise disproved(discovery, f"it is {float(exact)!r}")
        how = f"the logged {self.result}, measured again in exact arithmetic"
        return Verified(self.quantity, exact, how, self._best_known, self.is_larger_better)

    def find_result(self, discovery: Discovery) -> Any:
        """Return a candidate's result from the log."""
        return json.loads(str(discovery.details[self.result]))

    def caption(self, discovery: Discovery) -> list[str]:
        """Return the lines of text of a candidate's picture."""
        verified = self.verify(discovery)
        lines = [self.title.format(n=self._n), f"{self.quantity}\t{float(verified.value):.10g}"]
        if verified.best_known is not None and verified.behind is not None:
            is_even = abs(verified.behind) <= verified.best_known.unit
            comparison = "\tmatched" if is_even else f"\tbehind by\t{float(verified.behind):.3g}"
            lines.append(f"best known\t{verified.best_known.value}{comparison}")
        return [*lines, tell_place(discovery)]

    def _round(self, exact: Fraction) -> float:
        """Return the worse of the two floats next to a value."""
        nearest, worst = float(exact), -math.inf if self.is_larger_better else math.inf
        is_better = nearest > exact if self.is_larger_better else nearest < exact
        return math.nextafter(nearest, worst) if is_better else nearest


COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "value": OwnColumn(
        float,
        "measured quantity, rounded to the worse of the two adjacent floats; whether higher or lower values are better "
        "stands in [Problems](problems.md) and in [Programs](programs.md)",
    ),
    "result": OwnColumn(
        str, "what the program returned, as JSON, exact to the last bit, so that the value can be verified from the log"
    ),
}
"""The columns of ``evaluations`` that the tasks add whose programs construct an object."""


class Construction(Exact):
    """The evaluator of a task whose programs construct an object that JSON can express."""

    columns = column_types(COLUMNS)
    result = "result"

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the object."""
        return Job(source, self.entry_point, (), None, self._limits)


def check_integers(value: Any, n: int) -> list[list[int]]:
    """Return the vectors that a program returned: at least one, with ``n`` integers each.

    Raises:
        ValueError: The program returned anything else.
    """
    if type(value) is list and value and all(type(row) is list and [*map(type, row)] == [int] * n for row in value):
        return value
    raise ValueError(f"the result is not a list of vectors of {n} integers")


def to_integers(heights: Sequence[float]) -> list[int]:
    """Return heights as integers: multiples of one unit, cut toward 0 to `PLACES` binary places below the largest.

    The step function that is measured is the one with these heights. The unit does not matter where a step function is
    measured up to a factor; see `cut` for the others.
    """
    _, exponent = math.frexp(max(map(abs, heights)))
    return [cut(height, PLACES - exponent) for height in heights]


def cut(height: float, places: int) -> int:
    """Return a height as a multiple of 2**-places, cut toward 0."""
    return int(Fraction(height) * Fraction(2) ** places)


def convolve(ours: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """Return the convolution of two sequences of integers of any size."""
    values: list[int] = np.convolve(np.array(ours, object), np.array(theirs, object)).tolist()
    return values


class StepFunction(Construction):
    """The evaluator of a task whose programs construct a step function, by its heights on intervals of equal length."""

    entry_point = "construct_steps"
    title = "heights of the step function"

    def read(self, value: Any) -> list[float]:
        """Return the heights of the steps."""
        if not isinstance(value, list) or not all(type(height) in (int, float) for height in value):
            raise ValueError("the result is not a list of numbers")
        if not 1 <= len(value) <= MOST_STEPS:
            raise ValueError(f"expected from 1 to {MOST_STEPS:,} steps, got {len(value)}")
        try:
            return [float(height) for height in value]
        except OverflowError:
            raise ValueError("a height is too large for a float") from None

    @styled()
    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's step function as ``steps.png``."""
        figure, (axes,) = new_figure(880)
        axes.stairs(self.find_result(discovery), fill=True, color=INK)
        axes.set(xlabel="step", ylabel="height")
        return {"steps.png": to_png(figure, self.caption(discovery))}
