"""Circles in a rectangle: what circles are valid, what they score, and that nothing is tolerated."""

import io
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evodiverse.errors import ServiceError
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.circles_in_rectangle.evaluator import CirclesInRectangle, measure_sum
from evodiverse.tasks.programs.evaluator import Scored
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Reason, Rejection

TINY = math.ulp(0.0)
HUGE = 1e308
PAIR = [[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]]
NUMBERS = st.floats(-1e3, 1e3) | st.integers(-5, 5).map(float) | st.sampled_from([TINY, HUGE, -HUGE])
SETS = st.lists(
    st.tuples(NUMBERS, NUMBERS, st.floats(0, 1) | st.sampled_from([0.0, 0.5, TINY])), min_size=2, max_size=5
)


def find_sum(circles: Sequence[Sequence[float]]) -> Fraction:
    """Return the sum of the radii in a rectangle of perimeter 4, circle by circle, with code of its own.

    Raises:
        ValueError: Two circles overlap, or all circles are the same point.
    """
    exact = [tuple(map(Fraction, circle)) for circle in circles]
    for number, (x, y, r) in enumerate(exact):
        for to_x, to_y, to_r in exact[:number]:
            if (x - to_x) ** 2 + (y - to_y) ** 2 < (r + to_r) ** 2:
                raise ValueError("overlap")
    ends = [[z + sign * circle[2] for circle in exact for z in [circle[axis]] for sign in (-1, 1)] for axis in (0, 1)]
    perimeter = sum(2 * (max(own) - min(own)) for own in ends)
    if not perimeter:
        raise ValueError("a point")
    return sum(circle[2] for circle in exact) * 4 / perimeter


def score(circles: Any, reference: float = 0.5) -> Scored | Rejection:
    settings = ProgramSettings(evaluator="circles_in_rectangle", n=len(circles), reference=reference)
    return CirclesInRectangle(settings).score((np.array(circles),))


def verify(answer: Scored, **changed: Any) -> Any:
    candidate = Candidate(1, "source", "key", 1.0, -1.0, details={**answer.details, **changed})
    return CirclesInRectangle(ProgramSettings(n=21, reference=1.0)).verify(Discovery(candidate, 0, 0))


@pytest.mark.parametrize(
    ("circles", "value"),
    [
        (PAIR, 2 / 3),
        ([[7.0, -3.0, 0.25]], 0.5),
        ([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [2.0, 2.0, 1.0]], 1.0),
        ([[0.0, 0.0, 3.0], [4.0, 3.0, 2.0]], 5 * 2 / (9 + 8)),
        ([[0.0, 0.0, 0.0], [HUGE, HUGE, 0.0]], 0.0),
    ],
)
def test_the_value_is_the_sum_of_radii_at_perimeter_four(circles: list[list[float]], value: float) -> None:
    answer = score(circles)
    assert isinstance(answer, Scored)
    assert (answer.details["value"], answer.score) == pytest.approx((value, 2 * value), rel=1e-15)


@pytest.mark.parametrize(
    ("circles", "detail"),
    [
        ([[0.0, 0.0, 1.0], [math.nextafter(2, 0), 0.0, 1.0]], "circles 0 and 1 overlap"),
        ([[0.0, 0.0, 1.0], [2.0, 0.0, math.nextafter(1, 2)]], "circles 0 and 1 overlap"),
        ([[0.0, 0.0, 1.0], [1.0, 1.0, TINY], [9.0, 9.0, 1.0]], None),
        ([*PAIR, [0.0, 0.0, 0.0]], "circles 0 and 2 overlap"),
        ([[0.0, 0.0, 1.0], [2.0, 0.0, -TINY]], "circle 1 has a negative radius"),
        ([[1.0, 2.0, 0.0]], "the rectangle around the circles is a point"),
    ],
)
def test_nothing_is_tolerated(circles: list[list[float]], detail: str | None) -> None:
    answer = score(circles)
    if detail is None:
        assert isinstance(answer, Scored)
    else:
        assert answer == Rejection(Reason.INVALID, detail)


@given(SETS)
def test_score_and_another_method_agree_and_the_float_never_flatters(circles: Any) -> None:
    try:
        exact = find_sum(circles)
    except ValueError:
        with pytest.raises(ValueError, match=r"overlap|is a point"):
            measure_sum(circles)
        return
    answer = score(circles)
    assert isinstance(answer, Scored)
    value = float(str(answer.details["value"]))
    assert Fraction(value) <= exact < Fraction(math.nextafter(value, 99))
    assert verify(answer).value == exact


@given(SETS, st.integers(-9, 9), st.permutations([0, 1]))
def test_size_place_and_direction_do_not_matter(circles: Any, power: int, axes: Any) -> None:
    whole = [(round(x % 7), round(y % 7), r > 0.4) for x, y, r in circles]
    moved = [[(row[axes[0]] - 3.0) * 2.0**power, row[axes[1]] * 2.0**power, row[2] * 2.0**power] for row in whole]
    try:
        value = measure_sum(whole)
    except ValueError:
        return
    assert measure_sum(moved) == value


def test_a_log_that_contradicts_its_circles_is_refused() -> None:
    answer = score([[0.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    assert isinstance(answer, Scored)
    for changed in ({"value": 0.9}, {"points": "[[0,0,1],[1,0,1]]"}):
        with pytest.raises(ServiceError, match="differs from the logged one"):
            verify(answer, **changed)


def test_circles_are_shown_in_their_rectangle() -> None:
    settings = ProgramSettings(evaluator="circles_in_rectangle", n=2, reference=1.0)
    answer = score([[0.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
    assert isinstance(answer, Scored)
    candidate = Candidate(1, "source", "key", 1.0, -1.0, details=answer.details)
    (picture,) = CirclesInRectangle(settings).illustrate(Discovery(candidate, 0, 0)).values()
    assert Image.open(io.BytesIO(picture)).format == "PNG"
