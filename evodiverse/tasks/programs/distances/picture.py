"""The picture of points in the plane, with their shortest and their longest distances."""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from evodiverse.kit.pictures import Color
from evodiverse.tasks.programs.points.exact import Points, to_integers
from evodiverse.tasks.programs.points.picture import Brush, draw_points, fit

SHARE: Final = 1_000_000
"""Squared distances that differ by at most one part in this many count as equal."""

SHORTEST: Final[Color] = (36, 98, 156)
LONGEST: Final[Color] = (222, 168, 118)


def draw_distances(points: Points, lines: Sequence[str]) -> bytes:
    """Return a PNG that shows points, their shortest distances (dark and thick) and their longest (light and thin).

    Args:
        points: The points, at least two, no two of them the same.
        lines: The lines of text below the picture; see `draw_points`. A line that says how many distances of each kind
            are drawn is inserted before the last line.
    """
    pixels = fit(points)
    shortest, longest = find_extremes(points)

    def paint(brush: Brush) -> None:
        for pairs, color, width in [(longest, LONGEST, 1.5), (shortest, SHORTEST, 4)]:
            for one, other in pairs:
                brush.line([pixels[one], pixels[other]], color, width)

    legend = f"shortest, dark\t{len(shortest)} of them\tlongest, light\t{len(longest)} of them"
    return draw_points(pixels, paint, [*lines[:-1], legend, lines[-1]])


def find_extremes(points: Points) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of points at the shortest distance and the pairs at the longest, each as two indices.

    Distances that are almost equal count as equal (see `SHARE`).
    """
    whole, _ = to_integers(points)
    squares = {
        (one, other): sum((a - b) ** 2 for a, b in zip(whole[one], whole[other], strict=True))
        for one, other in combinations(range(len(points)), 2)
    }
    least, most = min(squares.values()), max(squares.values())
    return (
        [pair for pair, square in squares.items() if square * SHARE <= least * (SHARE + 1)],
        [pair for pair, square in squares.items() if square * SHARE >= most * (SHARE - 1)],
    )
