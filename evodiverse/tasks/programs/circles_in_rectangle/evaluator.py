"""A program packs circles of any radius into a rectangle of perimeter 4, so that the sum of radii is maximal."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from evodiverse.kit.pictures import GROUND, INK, Axes
from evodiverse.tasks.programs.points import Place, PointPlacing, Points, to_integers


def measure_sum(circles: Points) -> Fraction:
    """Return the sum of the radii after scaling, so that the rectangle around the circles has perimeter 4.

    The rectangle is the smallest one with horizontal and vertical sides that holds all circles.

    Args:
        circles: The x, y and radius of each circle.

    Raises:
        ValueError: A radius is below 0, two circles overlap, or all circles are the same point.
    """
    whole, _ = to_integers(circles)
    for number, (_, _, radius) in enumerate(whole):
        if radius < 0:
            raise ValueError(f"circle {number} has a negative radius")
    for (one, (x, y, r)), (other, (to_x, to_y, to_r)) in combinations(enumerate(whole), 2):
        if (x - to_x) ** 2 + (y - to_y) ** 2 < (r + to_r) ** 2:
            raise ValueError(f"circles {one} and {other} overlap")
    low_x, low_y, high_x, high_y = find_rectangle(whole)
    if (low_x, low_y) == (high_x, high_y):
        raise ValueError("the rectangle around the circles is a point")
    return Fraction(2 * sum(radius for _, _, radius in whole), high_x - low_x + high_y - low_y)


def find_rectangle(circles: Sequence[Sequence[int]]) -> tuple[int, int, int, int]:
    """Return the smallest x and y, and the largest x and y, of the smallest rectangle around circles."""
    x, y, r = np.array(circles, object).T
    return (x - r).min(), (y - r).min(), (x + r).max(), (y + r).max()


def draw_circles(axes: Axes, circles: Points) -> list[Place]:
    """Draw the circles and the rectangle around them, and return the places of the circles' centers.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        circles: The x, y and radius of each circle; they do not overlap.
    """
    from matplotlib.patches import Circle, Rectangle

    whole, _ = to_integers(circles)
    low_x, low_y, high_x, high_y = find_rectangle(whole)
    size = max(high_x - low_x, high_y - low_y)
    width, height = (high_x - low_x) / size, (high_y - low_y) / size
    axes.add_patch(Rectangle((0, 0), width, height, facecolor=GROUND, edgecolor=INK, linewidth=2, clip_on=False))
    places = [((x - low_x) / size, (y - low_y) / size) for x, y, _ in whole]
    for place, (_, _, radius) in zip(places, whole, strict=True):
        axes.add_patch(Circle(place, radius / size, facecolor="#bed8e8", edgecolor=INK, clip_on=False))
    return places


class CirclesInRectangle(PointPlacing):
    """The evaluator of this task."""

    entry_point = "place_circles"
    title = "{n} circles in a rectangle of perimeter 4"
    quantity = "sum of radii"
    n = 21
    reference = 2.36583237
    n_coordinates = 3
    sizes = range(1, 201)
    is_larger_better = True
    measure = staticmethod(measure_sum)
    draw = staticmethod(draw_circles)
