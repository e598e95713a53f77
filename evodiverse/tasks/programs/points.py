"""The common parts of the tasks that place points: exact arithmetic, the evaluator and the picture."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from evodiverse.kit.own_columns import OwnColumn, column_types
from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.exact import Exact
from evodiverse.vocabulary import Array, Job

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Points: TypeAlias = Sequence[Sequence[float]]
"""The finite coordinates x and y of each point."""


def to_integers(points: Points) -> tuple[list[tuple[int, int]], int]:
    """Return the coordinates multiplied by a power of two that makes them integers, and this factor."""
    ratios = [(x.as_integer_ratio(), y.as_integer_ratio()) for x, y in points]
    scale = max(denominator for ratio in ratios for _, denominator in ratio)
    return [(x * (scale // per_x), y * (scale // per_y)) for (x, per_x), (y, per_y) in ratios], scale


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


class PointPlacing(Exact):
    """The evaluator of point placements.

    Attributes:
        draw: The function that draws what lies under valid points in a picture, and returns their places in the unit
            square.
    """

    entry_point = "place_points"
    columns = column_types(COLUMNS)
    things = "points"
    result = "points"
    draw: ClassVar["staticmethod[[Axes, Points], Sequence[Place]]"]

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the points."""
        return Job(source, self.entry_point, (), (Array((self._n, 2)),), self._limits, _DRIVER)

    def read(self, value: Any) -> Points:
        """Return the coordinates of the points as lists.

        Args:
            value: A tuple of one ``(n, 2)`` array, the coordinates of the points.
        """
        (array,) = value
        points: list[list[float]] = array.tolist()
        return points

    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's points as ``points.png``."""
        return {"points.png": draw_points(self.draw, self.find_result(discovery), self.caption(discovery))}
