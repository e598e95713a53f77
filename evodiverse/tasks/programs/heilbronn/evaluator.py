"""Heilbronn's problem in a triangle: programs place points so that their smallest triangle is as large as possible."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from evodiverse.kit.pictures import GROUND, INK, Axes
from evodiverse.tasks.programs.points import Place, PointPlacing, Points, to_integers


def measure_share(points: Points) -> Fraction:
    """Return the smallest area of a triangle that three points form, as a share of the triangle (0,0), (1,0), (0,1).

    The result is 0 if three points lie on a line or two points are the same.

    Args:
        points: The points, at least three.

    Raises:
        ValueError: A point lies outside the whole triangle.
    """
    whole, scale = to_integers(points)
    for number, (x, y) in enumerate(whole):
        if x < 0 or y < 0 or x + y > scale:
            raise ValueError(f"point {number} lies outside the triangle")
    return Fraction(min(find_areas(whole)), scale**2)


def find_areas(whole: Sequence[Sequence[int]]) -> list[int]:
    """Return twice the area of each triangle of three points, in the order of `combinations`."""
    triangles = combinations(whole, 3)
    return [abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) for (ax, ay), (bx, by), (cx, cy) in triangles]


EQUAL: Final = Fraction(1, 10**6)
"""The relative difference in area up to which a triangle counts as one of the smallest."""

_HEIGHT: Final = math.sqrt(0.75)  # of an equilateral triangle with sides of 1
_FILLS: Final = ("#bed8e8", "#faddae", "#cbe2c4", "#e5cfe3", "#f7cdc4")


def draw_triangles(axes: Axes, points: Points) -> list[Place]:
    """Draw the triangle (as equilateral) and the smallest triangles that the points form; return the points' places.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        points: The points, at least three, in the triangle with the corners (0,0), (1,0) and (0,1).
    """
    places = [to_place(x, y) for x, y in points]
    fill_smallest(axes, points, places, [to_place(x, y) for x, y in [(0, 0), (1, 0), (0, 1)]])
    return places


def fill_smallest(axes: Axes, points: Points, places: Sequence[Place], region: Sequence[Place]) -> None:
    """Draw a region, given by the places of its corners, and the smallest triangles that the points in it form."""
    axes.fill(*zip(*region, strict=True), facecolor=GROUND, edgecolor=INK, linewidth=2, clip_on=False)
    for number, triangle in enumerate(find_smallest(points)):
        ends = [*zip(*(places[index] for index in triangle), strict=True)]
        axes.fill(*ends, color=_FILLS[number % len(_FILLS)], linewidth=0)
        axes.fill(*ends, fill=False, edgecolor=INK, linewidth=0.75, zorder=2)


def find_smallest(points: Points) -> list[tuple[int, ...]]:
    """Return the smallest triangles, each as the indices of its three points.

    These are all triangles whose area is at most ``1 + EQUAL`` times the smallest area.
    """
    areas = find_areas(to_integers(points)[0])
    most = min(areas) * (1 + EQUAL)
    triangles = combinations(range(len(points)), 3)
    return [one for one, area in zip(triangles, areas, strict=True) if area <= most]


def to_place(x: float, y: float) -> Place:
    """Return the position of a point in the unit square, in which the triangle is equilateral and (0,1) is its top."""
    return x + y / 2, (1 - _HEIGHT) / 2 + y * _HEIGHT


class Heilbronn(PointPlacing):
    """The evaluator of this task."""

    title = "{n} points in a triangle, and the smallest triangles that they form"
    quantity = "smallest share of the triangle's area"
    n = 11
    reference = 0.0365299
    sizes = range(3, 41)
    is_larger_better = True
    measure = staticmethod(measure_share)
    draw = staticmethod(draw_triangles)
