"""Heilbronn's problem in a convex region: the smallest triangle is to be as large a share of the hull as possible."""

from collections.abc import Sequence
from fractions import Fraction

from evodiverse.kit.pictures import Axes
from evodiverse.tasks.programs.heilbronn.evaluator import fill_smallest, find_areas
from evodiverse.tasks.programs.points import Place, PointPlacing, Points, fit, to_integers


def measure_share(points: Points) -> Fraction:
    """Return the smallest area of a triangle that three points form, as a share of the area of their convex hull.

    The result is 0 if three points lie on a line or two points are the same.

    Args:
        points: The points, at least three.

    Raises:
        ValueError: All points lie on one line.
    """
    whole, _ = to_integers(points)
    hull = find_hull(whole)
    area = sum(ax * by - bx * ay for (ax, ay), (bx, by) in zip(hull, [*hull[1:], hull[0]], strict=True))
    if not area:
        raise ValueError("all points lie on one line")
    return Fraction(min(find_areas(whole)), area)


def find_hull(whole: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return the corners of the convex hull of points with integer coordinates, counterclockwise."""
    halves: list[list[tuple[int, ...]]] = []
    ordered = sorted(set(whole))
    for run in (ordered, ordered[::-1]):
        half: list[tuple[int, ...]] = []
        for x, y in run:
            while len(half) > 1 and _turn(half[-2], half[-1], (x, y)) <= 0:
                half.pop()
            half.append((x, y))
        halves.append(half)
    return [*halves[0][:-1], *halves[1][:-1]] or ordered


def _turn(a: tuple[int, ...], b: tuple[int, ...], c: tuple[int, ...]) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])


def draw_hull(axes: Axes, points: Points) -> list[Place]:
    """Draw the convex hull and the smallest triangles that the points form; return the points' places.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        points: The points, at least three, not all on one line.
    """
    places = fit(points)
    whole, _ = to_integers(points)
    where = dict(zip(whole, places, strict=True))
    fill_smallest(axes, points, places, [where[corner] for corner in find_hull(whole)])
    return places


class HeilbronnConvex(PointPlacing):
    """The evaluator of this task."""

    title = "{n} points, their convex hull, and the smallest triangles that they form"
    quantity = "smallest share of the convex hull's area"
    n = 13
    reference = 0.03093689
    sizes = range(3, 41)
    is_larger_better = True
    measure = staticmethod(measure_share)
    draw = staticmethod(draw_hull)
