"""The common layout of pictures of points: a square with the points in it, and lines of text below."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from evodiverse.kit.pictures import INK, new_figure, styled, to_png
from evodiverse.tasks.programs.points.exact import Points, to_integers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
