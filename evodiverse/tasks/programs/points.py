"""The common parts of the tasks that place points: exact arithmetic, the evaluator and the picture."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from evodiverse.kit.own_columns import OwnColumn, column_types
from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Placing, Scored, Verified, disproved, tell_place, to_json
from evodiverse.vocabulary import Array, Job, Reason, Rejection

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


_SIDE, _DOT = 880, 18  # pixels: the side of the square, and the diameter of a point

Place = tuple[float, float]


@styled()
def draw_points(draw: Callable[["Axes", Points], Sequence[Place]], points: Points, lines: Sequence[str]) -> bytes:
    """Return a PNG of numbered points.

    Args:
        draw: The function `PointPlacing.draw`, which draws what lies under the points.
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

_HOW: Final = "the logged points, measured again in exact arithmetic"

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


class PointPlacing(Placing):
    """The evaluator of point placements.

    The score is value / reference, or reference / value if smaller values are better. The value is computed in exact
    arithmetic and logged as ``value``, rounded to a float: down, or up if smaller values are better. The points are
    logged as ``points``, exact to the last bit, so that the value can be verified from the log alone.

    Attributes:
        title: The title of pictures, with the field ``{n}`` for the number of points.
        is_larger_better: Whether larger values are better.
        measure: The function that returns the exact value of the quantity for given points, at least 0. It raises
            ValueError if the points are invalid.
        draw: The function that draws what lies under valid points in a picture, and returns their places in the unit
            square.
    """

    entry_point = "place_points"
    columns = column_types(COLUMNS)
    things = "points"
    title: ClassVar[str]
    is_larger_better: ClassVar[bool]
    measure: ClassVar["staticmethod[[Points], Fraction]"]
    draw: ClassVar["staticmethod[[Axes, Points], Sequence[Place]]"]

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
            exact = self.measure(points)
        except ValueError as error:
            return Rejection(Reason.INVALID, str(error))
        if exact > LARGEST:
            return Rejection(Reason.INVALID, f"the {self.quantity} is too large for a float")
        measured = self._round(exact)
        score = measured / self._reference if self.is_larger_better else self._reference / measured
        return Scored(score, {"value": measured, "points": json.dumps(points, separators=(",", ":"))})

    def report(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return the points and the value of a candidate as ``points.json``."""
        return {"points.json": to_json({"points": _read_points(discovery), "value": discovery.details["value"]})}

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's points as ``points.png``."""
        return {"points.png": draw_points(self.draw, _read_points(discovery), self._caption(discovery))}

    def verify(self, discovery: Discovery) -> Verified:
        """Return the exact value of the logged points.

        Raises:
            ServiceError: The logged value is different, or the points are invalid.
        """
        try:
            exact = self.measure(_read_points(discovery))
        except ValueError as error:
            raise disproved(discovery, str(error)) from error
        if self._round(exact) != discovery.details["value"]:
            raise disproved(discovery, f"it is {float(exact)!r}")
        return Verified(self.quantity, exact, _HOW, self.best_known.get(self._n), self.is_larger_better)

    def _round(self, exact: Fraction) -> float:
        """Return the worse of the two floats next to a value."""
        return round_down(exact) if self.is_larger_better else -round_down(-exact)

    def _caption(self, discovery: Discovery) -> list[str]:
        verified = self.verify(discovery)
        lines = [self.title.format(n=self._n), f"{self.quantity}\t{float(verified.value):.10g}"]
        if verified.best_known is not None and verified.behind is not None:
            is_even = abs(verified.behind) <= verified.best_known.unit
            comparison = "\tmatched" if is_even else f"\tbehind by\t{float(verified.behind):.3g}"
            lines.append(f"best known\t{verified.best_known.value}{comparison}")
        return [*lines, tell_place(discovery)]


def _read_points(discovery: Discovery) -> Points:
    """Return a candidate's points from the log."""
    points: list[list[float]] = json.loads(str(discovery.details["points"]))
    return points
