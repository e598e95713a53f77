"""The common parts of the tasks that place points: exact arithmetic, the evaluator and the picture."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

from evodiverse.kit.pictures import INK, Axes, new_figure, styled, to_png
from evodiverse.ports import Discovery
from evodiverse.tasks.programs import exact
from evodiverse.vocabulary import Array, Job, OwnColumn, column_types

Points: TypeAlias = Sequence[Sequence[float]]
"""The finite numbers that place each point or shape; the first two are x and y."""


def to_integers(points: Points) -> tuple[list[tuple[int, ...]], int]:
    """Return the numbers multiplied by a power of two that makes them integers, and this factor."""
    ratios = [[value.as_integer_ratio() for value in point] for point in points]
    scale = max(denominator for point in ratios for _, denominator in point)
    return [tuple(value * (scale // denominator) for value, denominator in point) for point in ratios], scale


Place = tuple[float, float]


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


_DRIVER: Final = "def drive(place):\n    return (place(),)\n"
"""The code that calls a program's function in the sandbox. It puts the returned array into a tuple, since the result of
a job with declared shapes is a tuple."""

COLUMNS: Final[Mapping[str, OwnColumn]] = {
    "value": exact.COLUMNS["value"],
    "points": OwnColumn(
        str,
        "the points as JSON, exact to the last bit, so that a new best value can be verified from the log; circles are "
        "x, y and radius, hexagons x, y and the tangent of half the angle by which they are turned",
    ),
}
"""The columns of ``evaluations`` that the tasks that place points, circles of any radius or hexagons add."""


class PointPlacing(exact.Exact):
    """The evaluator of placements of points, or of shapes that a few numbers place.

    Attributes:
        n_coordinates: How many numbers place one point.
        draw: The function that draws what lies under valid points in a picture, and returns their places in the unit
            square.
    """

    entry_point = "place_points"
    columns = column_types(COLUMNS)
    result = "points"
    n_coordinates: ClassVar[int] = 2
    draw: ClassVar["staticmethod[[Axes, Points], Sequence[Place]]"]

    def job(self, source: str) -> Job:
        """Return the sandbox job that asks a program for the points."""
        return Job(source, self.entry_point, (), (Array((self._n, self.n_coordinates)),), self._limits, _DRIVER)

    def read(self, value: Any) -> Points:
        """Return the coordinates of the points as lists.

        Args:
            value: A tuple of one ``(n, n_coordinates)`` array, the numbers that place the points.
        """
        (array,) = value
        points: list[list[float]] = array.tolist()
        return points

    @styled()
    def illustrate(self, discovery: Discovery) -> Mapping[str, bytes]:
        """Return a picture of a candidate's points, which are numbered, as ``points.png``."""
        figure, (axes,) = new_figure(880)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.set_axis_off()
        for number, (x, y) in enumerate(self.draw(axes, self.find_result(discovery))):
            axes.plot(x, y, "o", color=INK, markeredgecolor="white", markersize=18, clip_on=False, zorder=3)
            axes.text(x, y, str(number), color="white", size=10, ha="center", va="center_baseline", zorder=4)
        return {"points.png": to_png(figure, self.caption(discovery))}
