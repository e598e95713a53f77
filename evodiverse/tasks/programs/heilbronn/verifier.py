"""An independent verifier of Heilbronn's problem, in rational arithmetic. It shares no code with the scoring."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations


def find_smallest_share(points: Sequence[Sequence[float]]) -> Fraction:
    """Return the smallest area of a triangle that three points form, as a share of the triangle (0,0), (1,0), (0,1).

    The share of three points is the absolute value of the determinant of their barycentric coordinates.

    Raises:
        ValueError: A point has a negative barycentric coordinate and therefore lies outside the triangle.
    """
    rows = [(1 - Fraction(x) - Fraction(y), Fraction(x), Fraction(y)) for x, y in points]
    for number, row in enumerate(rows):
        if min(row) < 0:
            raise ValueError(f"point {number} has a negative barycentric coordinate")
    return min(abs(_determinant(*three)) for three in combinations(rows, 3))


def _determinant(a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction]) -> Fraction:
    cross = (b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0])
    return sum((x * y for x, y in zip(a, cross, strict=True)), Fraction(0))
