"""A program packs regular hexagons with sides of 1 into a regular hexagon with sides as short as possible.

Everything is measured in exact arithmetic. The hexagon in the row x, y, t has its center at (x, y) and is turned by
twice the arc tangent of t, so that the cosine and sine of the angle, (1 - t²) / (1 + t²) and 2t / (1 + t²), are
rational. All distances then have the form a + b·√3 with rational a and b.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt, sqrt
from typing import Final, NamedTuple

from evodiverse.kit.pictures import GROUND, INK, Axes
from evodiverse.tasks.programs.points import Place, PointPlacing, Points

ROOT: Final = (Fraction(isqrt(3 * 10**80), 10**40), Fraction(isqrt(3 * 10**80) + 1, 10**40))
"""A lower and an upper bound of √3."""

NORMALS: Final = tuple(
    (Fraction(g, 2), Fraction(h, 2)) for g, h in [(1, 1), (0, 2), (-1, 1), (-1, -1), (0, -2), (1, -1)]
)
"""The directions 30°, 90°, … 330°, normal to the sides of a hexagon that is not turned, as g and h in (g·√3, h)."""


class Hexagon(NamedTuple):
    """A regular hexagon with sides of 1: its center, and the cosine and sine of the angle by which it is turned."""

    x: Fraction
    y: Fraction
    cos: Fraction
    sin: Fraction


def read_hexagons(rows: Points) -> list[Hexagon]:
    """Return the exact hexagons for rows x, y, t, where t is the tangent of half the angle.

    The first one is moved to (0, 0), and the others with it.
    """
    exact = [tuple(map(Fraction, row)) for row in rows]
    left, low, _ = exact[0]
    return [Hexagon(x - left, y - low, (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)) for x, y, t in exact]


def measure_side(rows: Points) -> Fraction:
    """Return the side of the smallest regular hexagon, not turned, around hexagons, rounded up by less than 1e-38.

    Args:
        rows: The x, y and t of each hexagon.

    Raises:
        ValueError: The interiors of two hexagons overlap.
    """
    hexagons = read_hexagons(rows)
    for (one, left), (other, right) in combinations(enumerate(hexagons), 2):
        is_near = (left.x - right.x) ** 2 + (left.y - right.y) ** 2 < 4
        if is_near and not (has_side_between(left, right) or has_side_between(right, left)):
            raise ValueError(f"hexagons {one} and {other} overlap")
    reach = find_reach(hexagons)
    widths = [(reach[side] + reach[side + 3]) / 2 for side in range(3)]
    triangles = [sum(reach[first::2], Fraction(0)) / 3 for first in (0, 1)]
    return max(*widths, *triangles) * 2 / ROOT[0]


def has_side_between(one: Hexagon, other: Hexagon) -> bool:
    """Return whether all corners of the other hexagon lie beyond the line of some side of one.

    The interiors of two hexagons are disjoint if the line of a side of either separates them so.
    """
    right, up = other.x - one.x, other.y - one.y
    along, across = right * one.cos + up * one.sin, up * one.cos - right * one.sin
    cos = one.cos * other.cos + one.sin * other.sin
    sin = one.sin * other.cos - one.cos * other.sin
    return any(
        all(
            is_at_least_zero(h * across - to_h * sin, g * along + to_g * cos - Fraction(1, 2)) for to_g, to_h in NORMALS
        )
        for g, h in NORMALS
    )


def is_at_least_zero(a: Fraction, b: Fraction) -> bool:
    """Return whether a + b·√3 is at least 0."""
    if (a >= 0) == (b >= 0):
        return a >= 0
    return (a * a > 3 * b * b) == (a >= 0)


def find_reach(hexagons: Sequence[Hexagon]) -> list[Fraction]:
    """Return how far hexagons reach from (0, 0) in each of the directions `NORMALS`, rounded up."""
    tips = [(one, *normal) for one in hexagons for normal in NORMALS]
    return [
        max(_round_up(one.y * h + one.sin * to_h, one.x * g + one.cos * to_g) for one, to_g, to_h in tips)
        for g, h in NORMALS
    ]


def _round_up(a: Fraction, b: Fraction) -> Fraction:
    return a + b * ROOT[b > 0]


def draw_hexagons(axes: Axes, rows: Points) -> list[Place]:
    """Draw the hexagons and the smallest hexagon around them, and return the places of the hexagons' centers.

    Args:
        axes: The axes to draw on, whose limits are those of the unit square.
        rows: The x, y and t of each hexagon.
    """
    from scipy.optimize import linprog

    hexagons = read_hexagons(rows)
    reach = [-float(one) for one in find_reach(hexagons)]
    normals = [(float(g) * sqrt(3), float(h)) for g, h in NORMALS]
    x, y, apothem = linprog([0, 0, 1], A_ub=[(-g, -h, -1) for g, h in normals], b_ub=reach, bounds=(None, None)).x
    scale = sqrt(3) / 4 / apothem

    def outline(x: float, y: float, side: float, cos: float, sin: float) -> Iterator[tuple[float, ...]]:
        tips = [(side * (cos * h - sin * g), side * (sin * h + cos * g)) for g, h in normals]
        return zip(*((x + right, y + up) for right, up in tips), strict=True)

    axes.fill(*outline(0.5, 0.5, 0.5, 1, 0), facecolor=GROUND, edgecolor=INK, linewidth=2, clip_on=False)
    places = [(0.5 + scale * (float(one.x) - x), 0.5 + scale * (float(one.y) - y)) for one in hexagons]
    for place, one in zip(places, hexagons, strict=True):
        axes.fill(*outline(*place, scale, float(one.cos), float(one.sin)), facecolor="#bed8e8", edgecolor=INK)
    return places


class Hexagons(PointPlacing):
    """The evaluator of this task."""

    entry_point = "place_hexagons"
    title = "{n} hexagons with sides of 1 in a hexagon"
    quantity = "side of the enclosing hexagon"
    n = 11
    reference = 3.924501
    n_coordinates = 3
    sizes = range(1, 61)
    is_larger_better = False
    measure = staticmethod(measure_side)
    draw = staticmethod(draw_hexagons)
