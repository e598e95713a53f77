"""Hexagons in a hexagon: what hexagons are valid, what they score, and that nothing is tolerated."""

import io
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.optimize import linprog

from evodiverse.errors import ServiceError
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.hexagons.evaluator import Hexagons, is_at_least_zero, measure_side
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Reason, Rejection

ROOT = Fraction(math.isqrt(3 * 10**120), 10**60)
CORNERS = [
    (1, 0),
    (Fraction(1, 2), ROOT / 2),
    (-Fraction(1, 2), ROOT / 2),
    (-1, 0),
    (-Fraction(1, 2), -ROOT / 2),
    (Fraction(1, 2), -ROOT / 2),
]
PAIR = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0]]
SETS = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-1, 1)), min_size=2, max_size=4)

Place = tuple[Fraction, Fraction]


def corners_of(row: Sequence[float]) -> list[Place]:
    """Return the corners of a hexagon, counterclockwise, to 60 digits."""
    x, y, t = map(Fraction, row)
    cos, sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    return [(x + cos * a - sin * b, y + sin * a + cos * b) for a, b in CORNERS]


def find_overlap(one: Sequence[Place], other: Sequence[Place]) -> Fraction:
    """Return twice the area that two convex polygons share, by clipping one; this shares no code with the scoring."""
    kept = list(one)
    for (ax, ay), (bx, by) in zip(other, [*other[1:], other[0]], strict=True):
        sides = [(bx - ax) * (y - ay) - (x - ax) * (by - ay) for x, y in kept]
        clipped: list[Place] = []
        for at, (x, y) in enumerate(kept):
            (to_x, to_y), here, there = kept[at - 1], sides[at], sides[at - 1]
            if (here > 0) != (there > 0):
                share = there / (there - here)
                clipped.append((to_x + share * (x - to_x), to_y + share * (y - to_y)))
            if here > 0:
                clipped.append((x, y))
        kept = clipped
    return sum((x * v - u * y for (x, y), (u, v) in zip(kept, [*kept[1:], *kept[:1]], strict=True)), Fraction(0))


def find_side(rows: Sequence[Sequence[float]]) -> float:
    """Return the side of the smallest hexagon around hexagons, by linear programming over its center and size."""
    spots = np.array([corner for row in rows for corner in corners_of(row)], dtype=float)
    angles = np.pi / 6 + np.pi / 3 * np.arange(6)
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    limits = (spots @ normals.T).max(axis=0)
    found = linprog([0, 0, 1], A_ub=np.column_stack([-normals, -np.ones(6)]), b_ub=-limits, bounds=(None, None))
    return float(2 * found.fun / np.sqrt(3))


def score(rows: Any, reference: float = 3.0) -> Scored | Rejection:
    settings = ProgramSettings(evaluator="hexagons", n=len(rows), reference=reference)
    return Hexagons(settings).score((np.array(rows),))


def found(answer: Scored, **changed: Any) -> Discovery:
    return Discovery(Candidate(1, "source", "key", 1.0, -1.0, details={**answer.details, **changed}), 0, 0)


@pytest.mark.parametrize(
    ("rows", "side"),
    [
        ([[5.0, -7.0, 0.0]], 1.0),
        ([[0.0, 0.0, math.tan(math.pi / 12)]], 2 / math.sqrt(3)),
        (PAIR, 2.0),
        ([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]], 1 + 2 / math.sqrt(3)),
        ([*PAIR, [1.0, 1.75, 0.0]], 5 / 3 + 3.5 / math.sqrt(27)),
        ([[1e300, 1e300, 0.0]], 1.0),
    ],
)
def test_the_value_is_the_side_of_the_smallest_hexagon_around(rows: list[list[float]], side: float) -> None:
    answer = score(rows)
    assert isinstance(answer, Scored)
    assert (answer.details["value"], answer.score) == pytest.approx((side, 3 / side), rel=1e-15)


@pytest.mark.parametrize(
    ("rows", "is_valid"),
    [
        (PAIR, True),  # corner to corner, exactly
        ([[0.0, 0.0, 0.0], [math.nextafter(2, 0), 0.0, 0.0]], False),
        ([[0.0, 0.0, 0.0], [0.0, 1.7320508075688773, 0.0]], False),  # the float below √3
        ([[0.0, 0.0, 0.0], [0.0, 1.7320508075688774, 0.0]], True),
        ([[0.0, 0.0, 0.0], [1.9, 0.1, 0.0]], False),
        ([[0.0, 0.0, 0.0], [1.9, 0.0, 0.267949192431123]], True),  # turned by 30°
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], False),
        ([[0.0, 0.0, 0.0], [1e308, -1e308, 1e308]], True),
    ],
)
def test_nothing_is_tolerated(rows: list[list[float]], is_valid: bool) -> None:
    answer = score(rows)
    assert isinstance(answer, Scored) == is_valid
    if isinstance(answer, Rejection):
        assert (answer.reason, answer.detail) == (Reason.INVALID, "hexagons 0 and 1 overlap")


@given(SETS)
def test_score_and_other_methods_agree(rows: Any) -> None:
    shared = max(find_overlap(corners_of(one), corners_of(other)) for one, other in combinations(rows, 2))
    answer = score(rows)
    if isinstance(answer, Rejection):
        assert shared > 0
        return
    assert shared < 10**-50  # √3 is rounded there
    assert answer.details["value"] == pytest.approx(find_side(rows), rel=1e-7)
    assert Fraction(float(str(answer.details["value"]))) >= measure_side(rows)


@given(SETS, st.integers(-64, 64), st.randoms(use_true_random=False))
def test_neither_order_nor_place_nor_reflection_matters(rows: Any, steps: int, random: Any) -> None:
    spots = [(round(16 * x) / 16, round(16 * y) / 16, t) for x, y, t in rows]
    moved = [(steps / 4 - x, y - steps, -t) for x, y, t in spots]
    random.shuffle(moved)
    try:
        side = measure_side(spots)
    except ValueError:
        with pytest.raises(ValueError, match="overlap"):
            measure_side(moved)
        return
    assert float(measure_side(moved)) == float(side)


@given(st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9))
def test_signs_are_exact(a: int, b: int) -> None:
    bound = math.isqrt(3 * b * b)  # below √3 |b|, unless b is 0
    assert is_at_least_zero(Fraction(a), Fraction(b)) == (a >= -bound if b >= 0 else a > bound)


def test_a_log_that_contradicts_its_hexagons_is_refused() -> None:
    answer = score(PAIR)
    assert isinstance(answer, Scored)
    tested = Hexagons(ProgramSettings(n=2, reference=3.0))
    assert tested.verify(found(answer)).is_larger_better is False
    for changed in ({"value": 1.9}, {"points": "[[0,0,0],[1,0,0]]"}):
        with pytest.raises(ServiceError, match="differs from the logged one"):
            tested.verify(found(answer, **changed))


def test_hexagons_are_shown_in_their_hexagon() -> None:
    answer = score([[1e9, 0.0, 0.0], [1e9 + 2, 0.5, 0.3]])
    assert isinstance(answer, Scored)
    (picture,) = Hexagons(ProgramSettings(n=2, reference=3.0)).illustrate(found(answer)).values()
    assert Image.open(io.BytesIO(picture)).format == "PNG"
