"""The squared ratio of the largest to the smallest distance between points."""

from fractions import Fraction
from itertools import combinations

from evodiverse.tasks.programs.points.exact import Points, to_integers


def measure_ratio(points: Points) -> Fraction:
    """Return the squared ratio of the largest to the smallest distance, at least 1.

    Args:
        points: The points, at least two.

    Raises:
        ValueError: Two points are the same.
    """
    whole, _ = to_integers(points)
    first: dict[tuple[int, int], int] = {}
    for number, point in enumerate(whole):
        if first.setdefault(point, number) != number:
            raise ValueError(f"points {first[point]} and {number} are the same")
    squares = [(ax - bx) ** 2 + (ay - by) ** 2 for (ax, ay), (bx, by) in combinations(whole, 2)]
    return Fraction(max(squares), min(squares))
