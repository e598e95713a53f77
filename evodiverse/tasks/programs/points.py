"""The common parts of the tasks that place points: the problem, exact arithmetic, the evaluator and the picture."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from evodiverse.errors import PLEASE_REPORT, ServiceError
from evodiverse.kit.own_columns import OwnColumn, column_types
from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.prompts import describe
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.verified import BestKnown, Verified
from evodiverse.vocabulary import Array, Job, Limits, Reason, Rejection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points: TypeAlias = Sequence[Sequence[float]]
"""The finite coordinates x and y of each point."""

LARGEST: Final = Fraction(sys.float_info.max)


def to_integers(points: Points) -> tuple[list[tuple[int, int]], int]:
    """Return the coordinates multiplied by a power of two that makes them integers, and this factor."""
    ratios = [(x.as_integer_ratio(), y.as_integer_ratio()) for x, y in points]
    scale = max(denominator for ratio in ratios for _, denominator in ratio)
    return [(x * (scale // per_x), y * (scale // per_y)) for (x, per_x), (y, per_y) in ratios], scale


def round_down(value: Fraction) -> float:
    """Return the largest float that is at most a value, which must be in the range of floats."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def round_up(value: Fraction) -> float:
    """Return the smallest float that is at least a value, which must be in the range of floats."""
    return -round_down(-value)


class Problem(NamedTuple):
    """A quantity to maximize or minimize, measured on a set of points in the plane.

    Attributes:
        task: The value of ``task`` on the command line, and the name of the task's folder.
        title: The title of pictures, with the field ``{n}`` for the number of points.
        quantity: The name of the quantity.
        n: The default number of points.
        reference: The value that scores 1 for the default number of points.
        fewest, most: The smallest and largest number of points; more points would take too long to measure.
        is_larger_better: Whether larger values are better.
        best_known: The best published values by the number of points.
        measure: A function that returns the exact value of the quantity for given points, at least 0. It raises
            ``ValueError`` with the reason if the points are invalid.
        verify: A function that computes the same value by another method, and also raises ``ValueError``.
        how: A description of the method of ``verify``.
        draw: A function that draws what lies under valid points in a picture, and returns their places in the unit
            square; see `draw_points`.
    """

    task: str
    title: str
    quantity: str
    n: int
    reference: float
    fewest: int
    most: int
    is_larger_better: bool
    best_known: Mapping[int, BestKnown]
    measure: Callable[[Points], Fraction]
    verify: Callable[[Points], Fraction]
    how: str
    draw: Callable[["Axes", Points], Sequence[tuple[float, float]]]


_SIDE, _DOT = 880, 18  # pixels: the side of the square, and the diameter of a point

Place = tuple[float, float]


@styled()
def draw_points(draw: Callable[["Axes", Points], Sequence[Place]], points: Points, lines: Sequence[str]) -> bytes:
    """Return a PNG of numbered points.

    Args:
        draw: The function `Problem.draw`, which draws what lies under the points.
        points: The points.
        lines: The lines of text; see `to_png`.
    """
    figure, (axes,) = new_figure(_SIDE)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_axis_off()
    for number, (x, y) in enumerate(draw(axes, points)):
        axes.plot(x, y, "o", color=INK, markeredgecolor="white", markersize=_DOT, clip_on=False, zorder=3)
        axes.text(x, y, str(number), color="white", size=10, ha="center", va="center_baseline", zorder=4)
    return to_png(figure, lines)


def fit(points: Points) -> list[Place]:
    """Return the positions of points in the unit square, moved and scaled to fill it.

    Args:
        points: The points, at least two, not all the same. They may be of any size.
    """
    whole, _ = to_integers(points)
    columns = list(zip(*whole, strict=True))
    extent = max(max(column) - min(column) for column in columns)
    x, y = ([(2 * value - min(column) - max(column) + extent) / (2 * extent) for value in column] for column in columns)
    return list(zip(x, y, strict=True))


_DRIVER: Final = "def drive(place_points):\n    return (place_points(),)\n"
"""The code that calls a program's function in the sandbox. It puts the returned array into a tuple, since the result of
a job with declared shapes is a tuple."""

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "value": OwnColumn(
        float,
        "measured quantity, rounded to the worse of the two adjacent floats: for `heilbronn`, the area of the smallest "
        "triangle as a share of the whole triangle, higher is better; for `distances`, the squared ratio of the "
        "largest to the smallest distance, lower is better",
    ),
    "points": OwnColumn(
        str, "the points as JSON, exact to the last bit, so that a new best value can be verified from the log"
    ),
}
"""The columns of ``evaluations`` that the tasks that place points add."""


class PointPlacing:
    """The evaluator of point placements.

    The score is value / reference, or reference / value if smaller values are better. The value is computed in exact
    arithmetic and logged as ``value``, rounded to a float: down, or up if smaller values are better. The points are
    logged as ``points``, exact to the last bit, so that the value can be verified from the log alone.

    Args:
        problem: The problem, which defines the value of the points.
        n: The number of points.
        reference: The value that scores 1, above 0.
        limits: The limits of each run of a program.
    """

    entry_point = "place_points"
    columns = column_types(COLUMNS)

    def __init__(self, problem: Problem, n: int, reference: float, limits: Limits) -> None:
        self._problem = problem
        self._n = n
        self._reference = reference
        self._limits = limits
        self.description = describe(problem.task, n, reference, limits.cpu_seconds)

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the points."""
        return Job(source, self.entry_point, (), (Array((self._n, 2)),), self._limits, _DRIVER)

    def score(self, value: Any) -> Scored | Rejection:
        """Return the score of the points, or the reason why they are invalid.

        Args:
            value: A tuple of one ``(n, 2)`` array, the coordinates of the points.
        """
        (array,) = value
        points: list[list[float]] = array.tolist()
        try:
            exact = self._problem.measure(points)
        except ValueError as error:
            return Rejection(Reason.INVALID, str(error))
        if exact > LARGEST:
            return Rejection(Reason.INVALID, f"the {self._problem.quantity} is too large for a float")
        measured = self._round(exact)
        score = measured / self._reference if self._problem.is_larger_better else self._reference / measured
        return Scored(score, {"value": measured, "points": json.dumps(points, separators=(",", ":"))})

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the points and the value of a candidate as ``points.json``."""
        content = {"points": _read_points(discovery), "value": discovery.details["value"]}
        return {"points.json": (json.dumps(content, indent=1) + "\n").encode()}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's points as ``points.png``."""
        points = _read_points(discovery)
        return {"points.png": draw_points(self._problem.draw, points, self._caption(discovery))}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value that the problem's independent verifier (`Problem.verify`) finds for the points.

        Raises:
            ServiceError: The logged value is different, or the points are invalid.
        """
        try:
            exact = self._problem.verify(_read_points(discovery))
        except ValueError as error:
            raise _broken(discovery, str(error)) from error
        if self._round(exact) != discovery.details["value"]:
            raise _broken(discovery, f"it is {float(exact)!r}")
        problem = self._problem
        best_known = problem.best_known.get(self._n)
        return Verified(problem.quantity, exact, problem.how, best_known, problem.is_larger_better)

    def _round(self, exact: Fraction) -> float:
        return round_down(exact) if self._problem.is_larger_better else round_up(exact)

    def _caption(self, discovery: Discovery) -> list[str]:
        verified = self.verify(discovery)
        pool = "" if discovery.pool is None else f", pool {discovery.pool}"
        lines = [
            self._problem.title.format(n=self._n),
            f"{self._problem.quantity}\t{float(verified.value):.10g}",
        ]
        if verified.best_known is not None and verified.behind is not None:
            is_even = abs(verified.behind) <= verified.best_known.unit
            comparison = "\tmatched" if is_even else f"\tbehind by\t{float(verified.behind):.3g}"
            lines.append(f"best known\t{verified.best_known.value}{comparison}")
        return [*lines, f"iteration {discovery.iteration}{pool}, call {discovery.candidate.call}"]


def _read_points(discovery: Discovery) -> Points:
    """Return a candidate's points from the log."""
    points: list[list[float]] = json.loads(str(discovery.details["points"]))
    return points


def _broken(discovery: Discovery, why: str) -> ServiceError:
    return ServiceError(
        f"the value of call {discovery.candidate.call} differs from the logged one ({why}); {PLEASE_REPORT}"
    )


def build_evaluator(problem: Problem, settings: ProgramSettings, limits: Limits) -> PointPlacing:
    """Return the evaluator for settings that passed `find_violations`."""
    return PointPlacing(problem, settings.n or problem.n, settings.reference or problem.reference, limits)


def find_violations(problem: Problem, settings: ProgramSettings) -> list[str]:
    """Return everything that is wrong with ``task.n`` and with ``task.reference``, the value that scores 1."""
    n, reference = settings.n, settings.reference
    violations = []
    if n is None:
        violations.append(f"task.n has no value; task={problem.task} sets it")
    elif not problem.fewest <= n <= problem.most:
        violations.append(f"task.n must be from {problem.fewest} to {problem.most} for task={problem.task}, got {n}")
    if reference is None:
        violations.append(f"task.reference has no value; give the {problem.quantity} that scores 1")
    if n not in {None, problem.n} and reference == problem.reference:
        violations.append(f"task.reference={problem.reference} is for {problem.n} points; give the one for task.n={n}")
    return violations
