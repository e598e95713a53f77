"""Heilbronn's problem in a convex region: what points are valid and what they score."""

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

from evodiverse.errors import ServiceError
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.heilbronn_convex.evaluator import HeilbronnConvex, measure_share
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Reason, Rejection

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
TINY = math.ulp(0.0)
COORDINATES = st.floats(-1e6, 1e6) | st.integers(-4, 4).map(float) | st.sampled_from([TINY, 1e300, -1e300])
SETS = st.lists(st.tuples(COORDINATES, COORDINATES).map(list), min_size=3, max_size=7)
WHOLE = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=7)


def find_share(points: Sequence[Sequence[float]]) -> Fraction | None:
    """Return the smallest triangle's share of the hull, or None if all points lie on a line.

    The area of the hull is the sum of the triangles of one point and the edges that have no point on their right. This
    shares no code with the scoring.
    """
    exact = [(Fraction(x), Fraction(y)) for x, y in dict.fromkeys(map(tuple, points))]

    def area(a: Any, b: Any, c: Any) -> Fraction:
        return (b[0] - a[0]) * (c[1] - b[1]) - (c[0] - b[0]) * (b[1] - a[1])

    edges = [
        (a, b)
        for a in exact
        for b in exact
        if a != b
        and all(
            area(a, b, c) > 0
            or (not area(a, b, c) and (c[0] - a[0]) * (c[0] - b[0]) + (c[1] - a[1]) * (c[1] - b[1]) <= 0)
            for c in exact
        )
    ]
    whole = sum(area(exact[0], a, b) for a, b in edges)
    least = min(abs(area(*three)) for three in combinations([tuple(map(Fraction, point)) for point in points], 3))
    return least / whole if whole else None


def score(points: Any, reference: float = 0.5) -> Scored | Rejection:
    settings = ProgramSettings(evaluator="heilbronn_convex", n=len(points), reference=reference)
    return HeilbronnConvex(settings).score((np.array(points),))


def found(answer: Scored, **changed: Any) -> Discovery:
    return Discovery(Candidate(1, "source", "key", 1.0, -1.0, details={**answer.details, **changed}), 0, 0)


@pytest.mark.parametrize(
    ("points", "share"),
    [
        (SQUARE[:3], 1.0),
        (SQUARE, 0.5),
        ([*SQUARE, [0.5, 0.25]], 0.125),
        ([*SQUARE, [0.5, 0.5]], 0.0),
        ([*SQUARE, [2.0, 3.0]], 0.2),
        ([[0.0, 0.0], [TINY, 0.0], [0.0, TINY]], 1.0),
        ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], 0.0),
    ],
)
def test_the_value_is_the_smallest_share_of_the_hull(points: list[list[float]], share: float) -> None:
    answer = score(points)
    assert isinstance(answer, Scored)
    assert (answer.details["value"], answer.score) == pytest.approx((share, 2 * share), rel=1e-15)


@pytest.mark.parametrize("points", [[[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]], [[1.0, 2.0]] * 3])
def test_points_on_one_line_have_no_hull(points: list[list[float]]) -> None:
    assert score(points) == Rejection(Reason.INVALID, "all points lie on one line")


@given(SETS)
def test_score_and_another_method_agree_and_the_float_never_flatters(points: Any) -> None:
    exact = find_share(points)
    answer = score(points)
    if exact is None:
        assert isinstance(answer, Rejection)
        return
    assert isinstance(answer, Scored)
    value = float(str(answer.details["value"]))
    assert Fraction(value) <= exact < Fraction(math.nextafter(value, 2))
    tested = HeilbronnConvex(ProgramSettings(n=len(points), reference=0.5))
    assert tested.verify(found(answer)).value == exact


@given(WHOLE, st.tuples(*[st.integers(-5, 5)] * 6), st.randoms(use_true_random=False))
def test_neither_the_order_nor_shear_size_and_place_matter(points: Any, map_: Any, random: Any) -> None:
    a, b, c, d, right, up = map_
    if a * d == b * c or find_share(points) is None:
        return
    moved = [(a * x + b * y + right, c * x + d * y + up) for x, y in points]
    random.shuffle(moved)
    assert measure_share(moved) == measure_share(points)


def test_a_log_that_contradicts_its_points_is_refused() -> None:
    answer = score(SQUARE)
    assert isinstance(answer, Scored)
    tested = HeilbronnConvex(ProgramSettings(n=4, reference=0.5))
    for changed in ({"value": math.nextafter(0.5, 1)}, {"points": "[[0,0],[1,1],[2,2],[3,3]]"}):
        with pytest.raises(ServiceError, match="differs from the logged one"):
            tested.verify(found(answer, **changed))


def test_points_are_shown_in_their_hull() -> None:
    answer = score([*SQUARE, [0.5, 0.25]])
    assert isinstance(answer, Scored)
    (picture,) = HeilbronnConvex(ProgramSettings(n=5, reference=0.5)).illustrate(found(answer)).values()
    assert Image.open(io.BytesIO(picture)).format == "PNG"
