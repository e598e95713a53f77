"""Circles in the unit square: whether they are a packing, and what is left of them when nothing is tolerated."""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Circle = tuple[float, float, float]  # x, y, radius

TOLERANCE = 1e-6
_ROUNDING = 1e-14  # relative; far more than rounding can do to a distance or a sum of radii
_TINY = 1e-300  # below it, floats lose digits


def find_violation(centers: FloatArray, radii: FloatArray, tolerance: float = TOLERANCE) -> str | None:
    """Return why circles are no packing of the unit square, None if they are one.

    The tests are those of OpenEvolve's verification script, which the paper uses. The first kind of violation counts,
    in the order negative radius, wall, overlap; of that kind the worst, and of equals the one of the lowest index.

    Args:
        centers: ``(n, 2)``, n ≥ 1, finite.
        radii: ``(n,)``, finite; any below 0 is a violation, whatever the tolerance.
        tolerance: How far a circle may reach over a wall, or into another, at least 0.
    """
    negative = int(radii.argmin())
    if radii[negative] < 0:
        return f"circle {negative} has a negative radius ({radii[negative]:.3g})"
    with np.errstate(over="ignore"):
        excess = np.maximum(radii[:, None] - centers, centers + radii[:, None] - 1).max(axis=1)
    outermost = int(excess.argmax())
    if excess[outermost] > tolerance:
        return f"circle {outermost} leaves the square by {excess[outermost]:.3g}"
    one, other = np.triu_indices(len(radii), 1)
    sums, distances = radii[one] + radii[other], _distances(centers[one], centers[other])
    overlaps = np.where(distances < sums - tolerance, sums - distances, 0.0)
    if not overlaps.any():
        return None
    deepest = int(overlaps.argmax())
    return f"circles {one[deepest]} and {other[deepest]} overlap by {overlaps[deepest]:.3g}"


def shrink(centers: FloatArray, radii: FloatArray) -> FloatArray:
    """Return the radii lowered until no wall is crossed and no two circles overlap, exactly.

    "Exactly" is in rational arithmetic on the values of the floats. First each radius falls to the distance of the
    nearest wall. Then each two circles that overlap give up half of their overlap each; a circle too small for its half
    gives up all that it has, and the other the rest. A circle in several overlaps gives up the most that one asks
    of it. All overlaps are measured before the first is given up, so that neither the order of the circles nor a
    symmetry of the square makes a difference beyond rounding. What rounding leaves is taken off the larger circle, ulp
    by ulp.

    Args:
        centers: ``(n, 2)``, n ≥ 1, finite; a circle whose center lies outside the square gets the radius 0.
        radii: ``(n,)``, finite; one below 0 counts as 0.

    Returns:
        ``(n,)``, at least 0 and nowhere above ``radii`` that are; radii without a violation come back bit for bit.
    """
    # Exact: where the subtraction rounds, x is below 1/2 and therefore itself the smaller of the two.
    walls = np.minimum(centers, 1 - centers).min(axis=1)
    walled = np.minimum(radii, walls).clip(min=0.0)
    overlapping = _find_overlapping(centers, walled, np.column_stack(np.triu_indices(len(radii), 1)))
    return _settle(centers, _share(centers, walled, overlapping), overlapping) if len(overlapping) else walled


def _find_overlapping(centers: FloatArray, radii: FloatArray, pairs: IntArray) -> IntArray:
    """Return the pairs of circles that overlap; radii are at least 0.

    Floats decide where they cannot err: of circles with one center, and of those whose overlap or gap is far larger
    than rounding. The rest, which touch but for rounding, are decided in integers.

    Args:
        centers: ``(n, 2)``, in the square of those circles that have a radius above 0.
        radii: ``(n,)``.
        pairs: ``(m, 2)`` of indices.

    Returns:
        ``(k, 2)``, in the order of ``pairs``.
    """
    one, other = pairs.T
    sums = radii[one] + radii[other]
    with np.errstate(over="ignore"):
        distances = np.hypot(*(centers[one] - centers[other]).T)
    overlaps = (sums > 0) & (distances < sums)
    is_close = np.abs(distances - sums) <= _ROUNDING * sums + _TINY
    unclear = np.flatnonzero((sums > 0) & (distances > 0) & is_close)
    circles = _circles(centers, radii)
    for at in unclear.tolist():
        overlaps[at] = _overlap(circles[one[at]], circles[other[at]])
    overlapping: IntArray = pairs[overlaps]
    return overlapping


def _share(centers: FloatArray, radii: FloatArray, overlapping: IntArray) -> FloatArray:
    """Return what the radii fall to when each overlap is shared, up to rounding."""
    circles = _circles(centers, radii)
    shared = radii.copy()
    for pair in overlapping.tolist():
        for mine, others in (pair, pair[::-1]):
            (*center, radius), (*other_center, other_radius) = circles[mine], circles[others]
            distance = math.dist(center, other_center)
            left = min(max((radius - other_radius + distance) / 2, 0.0), distance)
            shared[mine] = min(shared[mine], left)
    return shared


def _settle(centers: FloatArray, radii: FloatArray, overlapping: IntArray) -> FloatArray:
    """Return the radii lowered, ulp by ulp, until none of these pairs overlaps."""
    circles = _circles(centers, radii)
    for pair in _find_overlapping(centers, radii, overlapping).tolist():  # a lower radius makes no new overlap
        while _overlap(*(circles[index] for index in pair)):
            larger = max(pair, key=lambda index: circles[index][2])
            x, y, radius = circles[larger]
            circles[larger] = (x, y, math.nextafter(radius, 0.0))
    return np.array([radius for _, _, radius in circles])


def _overlap(one: Circle, other: Circle) -> bool:
    """Return whether two circles overlap, in integers: the denominators of floats are powers of two."""
    ratios = [value.as_integer_ratio() for value in (*one, *other)]
    scale = max(denominator for _, denominator in ratios)
    x, y, r, other_x, other_y, other_r = (numerator * (scale // denominator) for numerator, denominator in ratios)
    return (x - other_x) ** 2 + (y - other_y) ** 2 < (r + other_r) ** 2


def _circles(centers: FloatArray, radii: FloatArray) -> list[Circle]:
    return [(x, y, radius) for (x, y), radius in zip(centers.tolist(), radii.tolist(), strict=True)]


def _distances(one: FloatArray, other: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        distances: FloatArray = np.sqrt(((one - other) ** 2).sum(axis=1))
    return distances
