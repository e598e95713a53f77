"""The picture of points in a triangle, with the smallest triangles that they form."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from evodiverse.kit.pictures import GROUND, INK, Color
from evodiverse.tasks.programs.points.exact import Points, to_integers
from evodiverse.tasks.programs.points.picture import MARGIN, SIDE, Brush, Pixel, draw_points

EQUAL: Final = Fraction(1, 10**6)
"""The relative difference in area up to which a triangle counts as one of the smallest."""

_HEIGHT: Final = SIDE * math.sqrt(0.75)
_CORNERS: Final = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))
_FILLS: Final[Sequence[Color]] = ((190, 216, 232), (250, 221, 174), (203, 226, 196), (229, 207, 227), (247, 205, 196))


def draw_triangles(points: Points, lines: Sequence[str]) -> bytes:
    """Return a PNG that shows points in a triangle (drawn equilateral) and the smallest triangles that the points form.

    Args:
        points: The points, at least three, in the triangle with the corners (0,0), (1,0) and (0,1).
        lines: The lines of text below the picture; see `draw_points`.
    """
    pixels = [to_pixel(x, y) for x, y in points]
    corners = [to_pixel(x, y) for x, y in _CORNERS]

    def paint(brush: Brush) -> None:
        brush.area(corners, GROUND)
        triangles = [[pixels[index] for index in one] for one in find_smallest(points)]
        for number, triangle in enumerate(triangles):
            brush.area(triangle, _FILLS[number % len(_FILLS)])
        for triangle in triangles:
            brush.line([*triangle, triangle[0]], INK, 0.75)
        brush.line([*corners, corners[0], corners[1]], INK, 2)

    return draw_points(pixels, paint, lines)


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


def to_pixel(x: float, y: float) -> Pixel:
    """Return the position of a point in the picture, in which the triangle is equilateral and (0,1) is its top."""
    return MARGIN + (x + y / 2) * SIDE, MARGIN + (SIDE + _HEIGHT) / 2 - y * _HEIGHT
