"""The picture of points in the plane, with their shortest and their longest distances."""

from itertools import combinations
from typing import TYPE_CHECKING, Final

from evodiverse.tasks.programs.points.exact import Points, to_integers
from evodiverse.tasks.programs.points.picture import Place, fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHARE: Final = 1_000_000
"""Squared distances that differ by at most one part in this many count as equal."""

_SHORTEST: Final = "#24629c"
_LONGEST: Final = "#dea876"


def draw_distances(axes: "Axes", points: Points) -> list[Place]:
    """Draw the shortest distances (dark and thick) and the longest (light and thin), and return the points' places.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        points: The points, at least two, no two of them the same.
    """
    places = fit(points)
    shortest, longest = find_extremes(points)
    for name, pairs, color, width in [("longest", longest, _LONGEST, 1.5), ("shortest", shortest, _SHORTEST, 4)]:
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
