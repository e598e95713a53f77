"""An independent verifier of circle packings, in rational arithmetic. It shares no code with the scoring."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations


def find_fault(centers: Sequence[Sequence[float]], radii: Sequence[float]) -> str | None:
    """Return why circles are not a packing of the unit square, without any tolerance, or None if they are one."""
    circles = [(Fraction(x), Fraction(y), Fraction(radius)) for (x, y), radius in zip(centers, radii, strict=True)]
    for number, (x, y, radius) in enumerate(circles):
        if radius < 0:
            return f"circle {number} has a negative radius"
        if min(x, y) < radius or max(x, y) + radius > 1:
            return f"circle {number} leaves the square"
    for (number, (x, y, radius)), (other, (its_x, its_y, its_radius)) in combinations(enumerate(circles), 2):
        if (x - its_x) ** 2 + (y - its_y) ** 2 < (radius + its_radius) ** 2:
            return f"circles {number} and {other} overlap"
    return None
