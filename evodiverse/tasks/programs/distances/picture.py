"""The picture of points in the plane, with their shortest and their longest distances."""

from collections.abc import Sequence
from itertools import combinations
from math import dist
from typing import Final

from evodiverse.kit.pictures import Color
from evodiverse.tasks.programs.points.exact import Points
from evodiverse.tasks.programs.points.picture import Brush, draw_points, fit

EQUAL: Final = 1e-6
"""Distances that differ from the shortest, or the longest, by less than this share of it are as short, or as long."""

SHORTEST: Final[Color] = (36, 98, 156)
LONGEST: Final[Color] = (222, 168, 118)


def draw_distances(points: Points, lines: Sequence[str]) -> bytes:
    """Return a PNG of points in the plane, their shortest distances dark and thick, their longest ones light and thin.

    Args:
        points: At least two, no two the same.
        lines: What stands below, see `draw_points`.
    """
    pixels = fit(points)
    shortest, longest = find_extremes(points)

    def paint(brush: Brush) -> None:
        for pairs, color, width in [(longest, LONGEST, 1.5), (shortest, SHORTEST, 4)]:
            for one, other in pairs:
                brush.line([pixels[one], pixels[other]], color, width)

    legend = f"shortest, dark\t{len(shortest)} of them\tlongest, light\t{len(longest)} of them"
    return draw_points(pixels, paint, [*lines, legend])


def find_extremes(points: Points) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of points at the shortest distance, and at the longest, but for a millionth of it."""
    scale = max(abs(value) for point in points for value in point)
    scaled = [[value / scale for value in point] for point in points]
    distances = {(one, other): dist(scaled[one], scaled[other]) for one, other in combinations(range(len(points)), 2)}
    least, most = min(distances.values()) * (1 + EQUAL), max(distances.values()) * (1 - EQUAL)
    return (
        [pair for pair, distance in distances.items() if distance <= least],
        [pair for pair, distance in distances.items() if distance >= most],
    )
