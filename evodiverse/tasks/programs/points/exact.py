"""Points in exact arithmetic: all coordinates are integers over a common denominator, a power of two."""

import math
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, TypeAlias

Points: TypeAlias = Sequence[Sequence[float]]
"""The finite coordinates x and y of each point."""

LARGEST: Final = Fraction(sys.float_info.max)


def to_integers(points: Points) -> tuple[list[tuple[int, int]], int]:
    """Return the coordinates multiplied by a power of two that makes them integers, and this factor."""
    ratios = [(x.as_integer_ratio(), y.as_integer_ratio()) for x, y in points]
    scale = max(denominator for ratio in ratios for _, denominator in ratio)
    return [(x * (scale // per_x), y * (scale // per_y)) for (x, per_x), (y, per_y) in ratios], scale


def round_down(value: Fraction) -> float:
    """Return the largest float that is at most a value, which must be in the range of floats."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def round_up(value: Fraction) -> float:
    """Return the smallest float that is at least a value, which must be in the range of floats."""
    return -round_down(-value)
