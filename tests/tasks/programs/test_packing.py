"""Packings of the unit square: which circles are one, and what shrinking leaves of circles that are not."""

import itertools
import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from evodiverse.tasks.programs.circle_packing.packing import find_violation, shrink

Circles = tuple[np.ndarray, np.ndarray]  # centers, radii
LAW = settings(deadline=None, derandomize=True)


def circles(*rows: tuple[float, float, float]) -> Circles:
    """From x, y and radius of each."""
    table = np.array(rows, dtype=np.float64)
    return table[:, :2], table[:, 2]


def is_packing(centers: np.ndarray, radii: np.ndarray, tolerance: float) -> bool:
    """The paper's script, circle by circle."""
    for (x, y), r in zip(centers, radii, strict=True):
        if r < 0 or min(x - r, y - r) < -tolerance or max(x + r, y + r) > 1 + tolerance:
            return False
    pairs = itertools.combinations(range(len(radii)), 2)
    return all(np.sqrt(np.sum((centers[i] - centers[j]) ** 2)) >= radii[i] + radii[j] - tolerance for i, j in pairs)


def is_exact_packing(centers: np.ndarray, radii: np.ndarray) -> bool:
    """In rational numbers; a circle of radius 0 may lie outside."""
    table = [tuple(map(Fraction, row)) for row in np.column_stack([centers, radii]).tolist()]
    inside = all(r == 0 or 0 < r <= min(x, y, 1 - x, 1 - y) for x, y, r in table)
    pairs = itertools.combinations(table, 2)
    return inside and all((a - x) ** 2 + (b - y) ** 2 >= (r + s) ** 2 for (a, b, r), (x, y, s) in pairs)


def largest_radii(centers: np.ndarray) -> np.ndarray:
    """Of all radii that these centers allow, those of the largest sum (a linear program)."""
    pairs = list(itertools.combinations(range(len(centers)), 2))
    rows = np.array([[float(index in pair) for index in range(len(centers))] for pair in pairs])
    distances = [math.dist(centers[i], centers[j]) for i, j in pairs]
    walls = np.minimum(centers, 1 - centers).min(axis=1)
    return linprog(-np.ones(len(centers)), rows, distances, bounds=[(0, wall) for wall in walls]).x


def grid(per_side: int) -> Circles:
    """Circles of one size, each touching its neighbors; exact where ``per_side`` is a power of two."""
    places = (np.arange(per_side) + 0.5) / per_side
    centers = np.array(list(itertools.product(places, places)))
    return centers, np.full(per_side**2, 0.5 / per_side)


def coordinates(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats, and multiples of 1/16, which make circles that touch exactly."""
    return st.floats(low, high) | st.integers(math.ceil(16 * low), math.floor(16 * high)).map(lambda k: k / 16)


def anything(low: float = -0.2, high: float = 1.2, smallest: float = -0.1) -> st.SearchStrategy[Circles]:
    circle = st.tuples(coordinates(low, high), coordinates(low, high), coordinates(smallest, 0.6))
    return st.lists(circle, min_size=1, max_size=7).map(lambda rows: circles(*rows))


SMALL = anything(0.1, 0.9, 0.0).map(lambda packing: (packing[0], packing[1] / 4))


@pytest.mark.parametrize(
    ("rows", "violation"),
    [
        ([(0.5, 0.5, 0.2), (0.2, 0.2, -0.1), (0.9, 0.9, -0.3)], "circle 2 has a negative radius (-0.3)"),
        ([(0.5, 0.5, 0.2), (0.2, 0.3, 0.25)], "circle 1 leaves the square by 0.05"),
        ([(0.5, 0.5, 0.1), (0.1, 0.2, 0.1), (0.75, 0.9, 0.112)], "circle 2 leaves the square by 0.012"),
        ([(1.5, 0.5, 0.0)], "circle 0 leaves the square by 0.5"),
        ([(0.2, 0.2, 0.1), (0.5, 0.6, 0.3125), (0.8, 0.2, 0.2)], "circles 1 and 2 overlap by 0.0125"),
        ([(0.2, 0.2, 0.1), (0.2, 0.3, 0.1), (0.5, 0.5, 0.2), (0.6, 0.5, 0.2)], "circles 2 and 3 overlap by 0.3"),
        ([(1e308, -1e308, 1.7e308)], "circle 0 leaves the square by inf"),
    ],
)
def test_the_worst_violation_is_named(rows: list[tuple[float, float, float]], violation: str) -> None:
    assert find_violation(*circles(*rows)) == violation


def test_a_negative_radius_counts_before_a_wall_and_a_wall_before_an_overlap() -> None:
    centers, radii = circles((0.5, 0.5, 0.4), (0.6, 0.5, 0.4), (0.5, 0.9, 0.2), (0.1, 0.1, -0.1))
    assert "negative" in str(find_violation(centers, radii))
    assert "leaves" in str(find_violation(centers[:3], radii[:3]))
    assert "overlap" in str(find_violation(centers[:2], radii[:2]))


def test_a_negative_radius_is_never_tolerated() -> None:
    assert find_violation(*circles((0.5, 0.5, -1e-300))) is not None


@pytest.mark.parametrize(("excess", "is_tolerated"), [(0.99e-6, True), (1.01e-6, False)])
@pytest.mark.parametrize(("x", "y"), [(0.25, 0.5), (0.75, 0.5), (0.5, 0.25), (0.5, 0.75)])
def test_each_wall_gives_a_millionth(x: float, y: float, excess: float, is_tolerated: bool) -> None:
    assert (find_violation(*circles((x, y, 0.25 + excess))) is None) is is_tolerated


@pytest.mark.parametrize(("excess", "is_tolerated"), [(0.99e-6, True), (1.01e-6, False)])
def test_two_circles_may_overlap_by_a_millionth(excess: float, is_tolerated: bool) -> None:
    packing = circles((0.3, 0.3, 0.125 + excess), (0.4875, 0.55, 0.1875))  # 3/16, 4/16 and 5/16 apart
    assert (find_violation(*packing) is None) is is_tolerated
    assert find_violation(*packing, tolerance=2e-6) is None


@LAW
@given(anything() | SMALL, st.sampled_from([0.0, 1e-6, 0.05]))
def test_what_has_no_violation_is_what_the_papers_script_accepts(packing: Circles, tolerance: float) -> None:
    assert (find_violation(*packing, tolerance) is None) == is_packing(*packing, tolerance)


@LAW
@given(anything())
def test_shrunk_circles_are_an_exact_packing_and_none_is_larger(packing: Circles) -> None:
    centers, radii = packing
    shrunk = shrink(centers, radii)
    assert is_exact_packing(centers, shrunk)
    assert (shrunk <= np.maximum(radii, 0)).all()


@LAW
@given(SMALL, st.lists(st.integers(-3, 3), min_size=7, max_size=7))
def test_shrunk_circles_are_an_exact_packing_however_near_they_were_to_one(packing: Circles, ulps: list[int]) -> None:
    centers, radii = packing[0], shrink(*packing)
    for index in range(len(radii)):
        radii[index] += ulps[index] * np.spacing(radii[index])
    assert is_exact_packing(centers, shrink(centers, radii))


@LAW
@given(anything())
def test_circles_without_a_violation_stay_bit_for_bit(packing: Circles) -> None:
    centers, radii = packing[0], shrink(*packing)
    assert shrink(centers, radii).tobytes() == radii.tobytes()


@pytest.mark.parametrize("packing", [grid(1), grid(4), circles((0.25, 0.25, 0.125), (0.4375, 0.5, 0.1875))])
def test_circles_that_touch_exactly_stay_as_they_are(packing: Circles) -> None:
    assert shrink(*packing).tobytes() == packing[1].tobytes()


@pytest.mark.parametrize(
    ("rows", "shrunk"),
    [
        ([(0.5, 0.25, 0.375)], [0.25]),  # the wall
        ([(0.5, 0.5, -0.25)], [0]),
        ([(1.0625, 0.5, 0.25), (0.0, 0.5, 0.25)], [0, 0]),  # outside, and on a wall
        ([(0.25, 0.5, 0.25), (0.5, 0.5, 0.125)], [3 / 16, 1 / 16]),  # an eighth too much, shared
        ([(0.25, 0.5, 0.25), (0.375, 0.5, 0.0625)], [1 / 8, 0]),  # the small one has a third of its half
        ([(0.5, 0.5, 0.25), (0.5, 0.5, 0.125)], [0, 0]),
        ([(0.25, 0.5, 0.5), (0.625, 0.5, 0.25)], [3 / 16, 3 / 16]),  # the wall first, then an eighth shared
        # The middle one gives what the deeper overlap asks, 1/8; the left one half of an overlap of 1/8 all the same.
        ([(0.25, 0.5, 0.1875), (0.5, 0.5, 0.1875), (0.625, 0.5, 0.1875)], [1 / 8, 1 / 16, 1 / 16]),
    ],
)
def test_shrinking_worked_by_hand(rows: list[tuple[float, float, float]], shrunk: list[float]) -> None:
    assert shrink(*circles(*rows)).tolist() == shrunk


@pytest.mark.parametrize("scale", [1.7e-160, 1e-300])
def test_circles_too_near_for_the_squares_of_floats_shrink_too(scale: float) -> None:
    centers, radii = circles((3 * scale, 4 * scale, 0.1), (6 * scale, 8 * scale, 0.1))
    shrunk = shrink(centers, radii)
    assert is_exact_packing(centers, shrunk)
    assert shrunk / scale == pytest.approx([1, 4], rel=1e-12)  # 3 and 6 to the walls, 5 apart


def test_an_overlap_too_small_for_floats_is_given_up() -> None:
    centers, radii = circles((0.452, 0.517, 0.1), (0.338, 0.671, 0.09160375779195983))
    assert np.sqrt(((centers[0] - centers[1]) ** 2).sum()) > radii.sum()
    assert not is_exact_packing(centers, radii)
    assert is_exact_packing(centers, shrink(centers, radii))


SYMMETRIES = {
    "left and right": lambda centers: np.column_stack([1 - centers[:, 0], centers[:, 1]]),
    "up and down": lambda centers: np.column_stack([centers[:, 0], 1 - centers[:, 1]]),
    "diagonal": lambda centers: centers[:, ::-1],
}


@pytest.mark.parametrize("symmetry", SYMMETRIES)
@LAW
@given(anything())
def test_a_symmetry_of_the_square_makes_no_difference(symmetry: str, packing: Circles) -> None:
    centers, radii = packing
    assert shrink(SYMMETRIES[symmetry](centers), radii) == pytest.approx(shrink(centers, radii), abs=1e-12)


@LAW
@given(anything(), st.randoms(use_true_random=False))
def test_the_order_of_the_circles_makes_no_difference(packing: Circles, random: Random) -> None:
    centers, radii = packing
    order = list(range(len(radii)))
    random.shuffle(order)
    assert shrink(centers[order], radii[order]) == pytest.approx(shrink(centers, radii)[order], abs=1e-12)


@pytest.mark.parametrize("inflation", [1e-9, 0.4e-6, 0.9e-6])
@given(st.integers(0, 10_000))
@settings(LAW, max_examples=15)
def test_no_inflation_outgrows_the_largest_radii_there_are(inflation: float, seed: int) -> None:
    centers = np.random.default_rng(seed).uniform(0.05, 0.95, (9, 2))
    radii = largest_radii(centers)
    assert shrink(centers, radii + inflation).sum() <= radii.sum() + 1e-12


def test_a_tolerated_inflation_buys_nothing() -> None:
    centers, radii = grid(4)
    assert find_violation(centers, radii + 0.49e-6) is None
    assert math.fsum(shrink(centers, radii + 0.49e-6)) <= math.fsum(radii) == 2


def test_of_circles_with_one_center_nothing_is_left() -> None:
    centers, radii = np.full((200, 2), 0.5), np.full(200, 4e-7)
    assert find_violation(centers, radii) is None
    assert shrink(centers, radii).tolist() == [0.0] * 200


@LAW
@given(st.integers(3, 300), st.integers(3, 300), st.integers(0, 2**32))
def test_circles_far_smaller_than_rounding_are_shrunk_exactly(spread: int, size: int, seed: int) -> None:
    draws = np.random.default_rng(seed)
    centers = 0.5 + (draws.random((6, 2)) - 0.5) * 10.0**-spread
    assert is_exact_packing(centers, shrink(centers, draws.random(6) * 10.0**-size))
