"""The area of the smallest of all triangles formed by three of the points, as a share of the whole triangle."""

from fractions import Fraction
from itertools import combinations

from evodiverse.tasks.programs.points.exact import Points, to_integers


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
    smallest = min(
        abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay)) for (ax, ay), (bx, by), (cx, cy) in combinations(whole, 3)
    )
    return Fraction(smallest, scale**2)
