"""The picture of points in a triangle, with the smallest triangles that they form."""

import math
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Final

from evodiverse.kit.pictures import GROUND, INK
from evodiverse.tasks.programs.points.exact import Points, to_integers
from evodiverse.tasks.programs.points.picture import Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EQUAL: Final = Fraction(1, 10**6)
"""The relative difference in area up to which a triangle counts as one of the smallest."""

_HEIGHT: Final = math.sqrt(0.75)  # of an equilateral triangle with sides of 1
_CORNERS: Final = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
_FILLS: Final = ("#bed8e8", "#faddae", "#cbe2c4", "#e5cfe3", "#f7cdc4")


def draw_triangles(axes: "Axes", points: Points) -> list[Place]:
    """Draw the triangle (as equilateral) and the smallest triangles that the points form; return the points' places.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        points: The points, at least three, in the triangle with the corners (0,0), (1,0) and (0,1).
    """
    places = [to_place(x, y) for x, y in points]
    corners = zip(*(to_place(x, y) for x, y in _CORNERS), strict=True)
    axes.fill(*corners, facecolor=GROUND, edgecolor=INK, linewidth=2, clip_on=False)
    for number, triangle in enumerate(find_smallest(points)):
        ends = [*zip(*(places[index] for index in triangle), strict=True)]
        axes.fill(*ends, color=_FILLS[number % len(_FILLS)], linewidth=0)
        axes.fill(*ends, fill=False, edgecolor=INK, linewidth=0.75, zorder=2)
    return places


def find_smallest(points: Points) -> list[tuple[int, ...]]:
    """Return the smallest triangles, each as the indices of its three points.

    These are all triangles whose area is at most ``1 + EQUAL`` times the smallest area.
    """
    whole, _ = to_integers(points)
    areas = {}
    for one in combinations(range(len(points)), 3):
        (ax, ay), (bx, by), (cx, cy) = (whole[index] for index in one)
        areas[one] = abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
    most = min(areas.values()) * (1 + EQUAL)
    return [one for one, area in areas.items() if area <= most]


def to_place(x: float, y: float) -> Place:
    """Return the position of a point in the unit square, in which the triangle is equilateral and (0,1) is its top."""
    return x + y / 2, (1 - _HEIGHT) / 2 + y * _HEIGHT
