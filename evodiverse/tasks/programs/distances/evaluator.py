"""A program places points so that their largest distance is as small as possible, compared with the smallest."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from evodiverse.kit.pictures import Axes
from evodiverse.tasks.programs.points import Place, PointPlacing, Points, fit, to_integers


def measure_ratio(points: Points) -> Fraction:
    """Return the squared ratio of the largest to the smallest distance, at least 1.

    Args:
        points: The points, at least two.

    Raises:
        ValueError: Two points are the same.
    """
    whole, _ = to_integers(points)
    first: dict[tuple[int, ...], int] = {}
    for number, point in enumerate(whole):
        if first.setdefault(point, number) != number:
            raise ValueError(f"points {first[point]} and {number} are the same")
    squares = _find_squares(whole)
    return Fraction(max(squares), min(squares))


def _find_squares(whole: Sequence[Sequence[int]]) -> list[int]:
    """Return the square of the distance of each pair of points, in the order of `combinations`."""
    return [(ax - bx) ** 2 + (ay - by) ** 2 for (ax, ay), (bx, by) in combinations(whole, 2)]


SHARE: Final = 1_000_000
"""Squared distances that differ by at most one part in this many count as equal."""


def draw_distances(axes: Axes, points: Points) -> list[Place]:
    """Draw the shortest distances (dark and thick) and the longest (light and thin), and return the points' places.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        points: The points, at least two, no two of them the same.
    """
    places = fit(points)
    shortest, longest = find_extremes(points)
    for name, pairs, color, width in [("longest", longest, "#dea876", 1.5), ("shortest", shortest, "#24629c", 4)]:
        for pair in pairs:
            ends = zip(*(places[index] for index in pair), strict=True)
            (line,) = axes.plot(*ends, color=color, linewidth=width, clip_on=False)
        line.set_label(f"{name}: {len(pairs)}")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1.01), ncols=2, frameon=False)
    return places


def find_extremes(points: Points) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the pairs of points at the shortest distance and the pairs at the longest, each as two indices.

    Distances that are almost equal count as equal (see `SHARE`).
    """
    squares = _find_squares(to_integers(points)[0])
    least, most = min(squares), max(squares)
    pairs = list(zip(combinations(range(len(points)), 2), squares, strict=True))
    return (
        [pair for pair, square in pairs if square * SHARE <= least * (SHARE + 1)],
        [pair for pair, square in pairs if square * SHARE >= most * (SHARE - 1)],
    )


class Distances(PointPlacing):
    """The evaluator of this task."""

    title = "{n} points in the plane, their shortest and their longest distances"
    quantity = "squared ratio of the largest to the smallest distance"
    n = 16
    reference = 12.88923
    sizes = range(2, 101)
    is_larger_better = False
    measure = staticmethod(measure_ratio)
    draw = staticmethod(draw_distances)
