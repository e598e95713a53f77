"""Circles in the unit square: a check of whether they form a packing, and a function that turns them into one.

The function shrinks the radii until no circle crosses a wall and no two circles overlap, without any tolerance.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

TOLERANCE = 1e-6
_ROUNDING = 1e-14  # relative; far above the rounding error of a distance or a sum of radii
_TINY = 1e-300  # below this, floats lose digits


def find_violation(centers: FloatArray, radii: FloatArray, tolerance: float = TOLERANCE) -> str | None:
    """Return why circles are not a packing of the unit square, or None if they are one.

    The tests are those of OpenEvolve's verification script, which the paper uses. They look for negative radii, crossed
    walls and overlaps, in this order. The worst violation of the first kind found is reported; if several are equally
    bad, it is the one with the lowest index.

    Args:
        centers: ``(n, 2)`` centers, n ≥ 1, finite.
        radii: ``(n,)`` radii, finite; a negative radius is a violation with any tolerance.
        tolerance: How far a circle may cross a wall or overlap another circle, at least 0.
    """
    negative = int(radii.argmin())
    if radii[negative] < 0:
        return f"circle {negative} has a negative radius ({radii[negative]:.3g})"
    one, other = np.triu_indices(len(radii), 1)
    with np.errstate(over="ignore"):
        excess = np.maximum(radii[:, None] - centers, centers + radii[:, None] - 1).max(axis=1)
        distances = np.sqrt(((centers[one] - centers[other]) ** 2).sum(axis=1))
    outermost = int(excess.argmax())
    if excess[outermost] > tolerance:
        return f"circle {outermost} leaves the square by {excess[outermost]:.3g}"
    sums = radii[one] + radii[other]
    overlaps = np.where(distances < sums - tolerance, sums - distances, 0.0)
    if not overlaps.any():
        return None
    deepest = int(overlaps.argmax())
    return f"circles {one[deepest]} and {other[deepest]} overlap by {overlaps[deepest]:.3g}"


def shrink(centers: FloatArray, radii: FloatArray) -> FloatArray:
    """Return the radii after lowering them until no circle crosses a wall and no two circles overlap.

    If all centers lie in the square, both conditions then hold exactly, that is, in rational arithmetic on the values
    of the floats. First, each radius is lowered to the distance to the nearest wall. Then each of two overlapping
    circles gives up half of their overlap; a circle with a radius below this half shrinks to 0, and the other gives up
    the rest. A circle in several overlaps gives up the largest of these parts. All overlaps are measured before any
    radius is lowered, so that neither the order of the circles nor a symmetry of the square makes a difference beyond
    rounding. Overlaps that remain because of rounding are removed by lowering the larger radius, one unit in the last
    place (ulp) at a time.

    Args:
        centers: ``(n, 2)`` centers, n ≥ 1, finite; a circle whose center lies outside the square gets the radius 0.
        radii: ``(n,)`` radii, finite; a negative one counts as 0.

    Returns:
        ``(n,)`` radii, at least 0 and at most the given radius (or 0, if that is negative). The radius of a circle that
        crosses no wall and overlaps no other circle is returned unchanged.
    """
    # This is exact: if the subtraction rounds, x is below 1/2 and is therefore itself the smaller of the two.
    walls = np.minimum(centers, 1 - centers).min(axis=1)
    walled = np.minimum(radii, walls).clip(min=0.0)
    overlapping = _find_overlapping(centers, walled, np.column_stack(np.triu_indices(len(radii), 1)))
    return _settle(centers, _share(centers, walled, overlapping), overlapping) if len(overlapping) else walled


def _find_overlapping(centers: FloatArray, radii: FloatArray, pairs: IntArray) -> IntArray:
    """Return the pairs of circles that overlap.

    Pairs whose gap is far larger than rounding errors are left out in floating-point arithmetic; the others, which
    overlap or touch within rounding errors, are checked in integer arithmetic.

    Args:
        centers: ``(n, 2)`` centers; those of circles with a radius above 0 lie in the unit square.
        radii: ``(n,)`` radii, at least 0.
        pairs: ``(m, 2)`` indices of the circles in each pair to check.

    Returns:
        ``(k, 2)`` indices of the circles in each overlapping pair, in the order of ``pairs``.
    """
    one, other = pairs.T
    with np.errstate(over="ignore"):
        distances = np.hypot(*(centers[one] - centers[other]).T)
    near = pairs[distances <= (radii[one] + radii[other]) * (1 + _ROUNDING) + _TINY]
    circles = np.column_stack([centers, radii]).tolist()
    overlaps = [_overlap(circles[mine], circles[others]) for mine, others in near.tolist()]
    overlapping: IntArray = near[np.array(overlaps, dtype=bool)]
    return overlapping


def _share(centers: FloatArray, radii: FloatArray, overlapping: IntArray) -> FloatArray:
    """Return the ``(n,)`` radii after the overlap of each pair is split between its circles, as `shrink` explains.

    Because of rounding, tiny overlaps may remain.
    """
    circles = np.column_stack([centers, radii]).tolist()
    shared = radii.copy()
    for mine, others in np.concatenate([overlapping, overlapping[:, ::-1]]).tolist():
        (*center, radius), (*other_center, other_radius) = circles[mine], circles[others]
        distance = math.dist(center, other_center)
        left = min(max((radius - other_radius + distance) / 2, 0.0), distance)
        shared[mine] = min(shared[mine], left)
    return shared


def _settle(centers: FloatArray, radii: FloatArray, overlapping: IntArray) -> FloatArray:
    """Return the ``(n,)`` radii after lowering them, ulp by ulp, until none of the given pairs overlaps."""
    circles = np.column_stack([centers, radii]).tolist()
    for pair in _find_overlapping(centers, radii, overlapping).tolist():  # lowering a radius creates no new overlap
        while _overlap(*(circles[index] for index in pair)):
            larger = max(pair, key=lambda index: circles[index][2])
            circles[larger][2] = math.nextafter(circles[larger][2], 0.0)
    return np.array(circles)[:, 2]


def _overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two circles (x, y, radius) overlap, in integers over a common denominator, a power of two."""
    ratios = [value.as_integer_ratio() for value in (*one, *other)]
    scale = max(denominator for _, denominator in ratios)
    x, y, r, other_x, other_y, other_r = (numerator * (scale // denominator) for numerator, denominator in ratios)
    return (x - other_x) ** 2 + (y - other_y) ** 2 < (r + other_r) ** 2
