"""An independent verifier of ratios of distances, in rational arithmetic. It shares no code with the scoring."""

from collections.abc import Sequence
from fractions import Fraction


def find_squared_ratio(points: Sequence[Sequence[float]]) -> Fraction:
    """Return the square of the largest distance over the square of the smallest, found pair by pair.

    Raises:
        ValueError: Two points are the same, or there is only one point.
    """
    exact = [(Fraction(x), Fraction(y)) for x, y in points]
    largest = smallest = None
    for number, (x, y) in enumerate(exact):
        for other, (its_x, its_y) in enumerate(exact[:number]):
            right, up = x - its_x, y - its_y
            square = right * right + up * up
            if not square:
                raise ValueError(f"points {other} and {number} are the same")
            largest = square if largest is None else max(largest, square)
            smallest = square if smallest is None else min(smallest, square)
    if largest is None or smallest is None:
        raise ValueError(f"expected at least 2 points, got {len(exact)}")
    return largest / smallest
