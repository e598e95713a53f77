"""An independent verifier of ratios of distances, in rational arithmetic; it shares no code with what scores points."""

from collections.abc import Sequence
from fractions import Fraction


def find_squared_ratio(points: Sequence[Sequence[float]]) -> Fraction:
    """Return the square of the largest distance over that of the smallest, each found for one point after another.

    Raises:
        ValueError: Two points have no distance.
    """
    exact = [(Fraction(x), Fraction(y)) for x, y in points]
    largest = smallest = None
    for number, (x, y) in enumerate(exact):
        for other, (its_x, its_y) in enumerate(exact[:number]):
            right, up = x - its_x, y - its_y
            square = right * right + up * up
            if not square:
                raise ValueError(f"points {other} and {number} have no distance")
            largest = square if largest is None else max(largest, square)
            smallest = square if smallest is None else min(smallest, square)
    if largest is None or smallest is None:
        raise ValueError("one point has no distance to another")
    return largest / smallest
