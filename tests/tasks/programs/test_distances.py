"""Points at nearly equal distances: what points are valid, what they score, and what is kept of them."""

import io
import json
import math
import re
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from evodiverse.errors import InputError, ServiceError
from evodiverse.ports import Discovery
from evodiverse.tasks.programs.distances.evaluator import (
    Distances,
    draw_distances,
    find_extremes,
    measure_ratio,
)
from evodiverse.tasks.programs.evaluator import BEST_KNOWN, Scored
from evodiverse.tasks.programs.points import fit
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Candidate, Reason, Rejection
from tests.runs import plan, rows, run_here
from tests.tasks.programs.samples import start_of

SQUARE = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
TINY = math.ulp(0.0)
HUGE = 1.7e308

COORDINATES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([0.0, -0.0, TINY, HUGE, -HUGE, 1.0])
SETS = st.lists(st.tuples(COORDINATES, COORDINATES).map(list), min_size=2, max_size=7)
WHOLE = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=2, max_size=8, unique=True)


def find_squared_ratio(points: Sequence[Sequence[float]]) -> Fraction:
    """Return the square of the largest distance over the square of the smallest, found pair by pair.

    This shares no code with the scoring.

    Raises:
        ValueError: Two points are the same.
    """
    exact = [(Fraction(x), Fraction(y)) for x, y in points]
    squares: list[Fraction] = []
    for number, (x, y) in enumerate(exact):
        own = [(x - its_x) ** 2 + (y - its_y) ** 2 for its_x, its_y in exact[:number]]
        if 0 in own:
            raise ValueError(f"points {own.index(Fraction(0))} and {number} are the same")
        squares += own
    return max(squares) / min(squares)


def evaluator(n: int, reference: float = 3.0) -> Distances:
    return Distances(ProgramSettings(evaluator="distances", n=n, reference=reference))


def score(points: list[list[float]], reference: float = 3.0) -> Scored | Rejection:
    return evaluator(len(points), reference).score((np.array(points),))


def scored(points: list[list[float]], reference: float = 3.0) -> Scored:
    answer = score(points, reference)
    assert isinstance(answer, Scored), answer
    return answer


def found(answer: Scored, pool: int | None = 1) -> Discovery:
    return Discovery(Candidate(113, "source", "key", answer.score, -answer.score, details=answer.details), 57, pool)


def floats(points: Any) -> list[list[float]]:
    return [[float(x), float(y)] for x, y in points]


@pytest.mark.parametrize(
    ("points", "ratio"),
    [
        (SQUARE, 2.0),
        ([[0.0, 0.0], [3.0, 4.0]], 1.0),
        ([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], 25.0),
        ([[0.0, 0.0], [HUGE, 0.0], [HUGE, HUGE], [0.0, HUGE]], 2.0),
        ([[-HUGE, 0.0], [HUGE, 0.0], [0.0, 0.0]], 4.0),
        ([[0.0, 0.0], [TINY, -0.0], [3 * TINY, 0.0]], 9.0),
    ],
)
def test_the_value_is_the_squared_ratio_of_the_distances(points: list[list[float]], ratio: float) -> None:
    answer = scored(points, 3.0)
    assert (answer.details["value"], answer.score) == (ratio, 3 / ratio)


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ([*SQUARE, [1.0, 1.0]], "points 2 and 4 are the same"),
        ([[0.0, -0.0], [1.0, 1.0], [-0.0, 0.0]], "points 0 and 2 are the same"),
        ([[0.0, 0.0], [1e-200, 0.0], [1.0, 0.0]], "the squared ratio of the largest to the smallest distance is too"),
        ([[-HUGE, -HUGE], [HUGE, HUGE], [0.0, TINY], [0.0, 0.0]], "is too large for a float"),
    ],
)
def test_points_without_a_ratio_are_invalid_and_say_why(points: list[list[float]], reason: str) -> None:
    answer = score(points)
    assert isinstance(answer, Rejection)
    assert (answer.reason, reason in answer.detail) == (Reason.INVALID, True)


def test_points_that_floats_cannot_tell_apart_are_told_apart() -> None:
    far = [[1.0, 0.0], [math.nextafter(1, 2), 0.0], [2.0, 0.0]]
    assert scored(far).details["value"] == 2.0**104


@given(SETS)
def test_score_and_another_method_agree_and_the_float_never_flatters(points: list[list[float]]) -> None:
    if len({(x, y) for x, y in points}) < len(points):
        for measure in (measure_ratio, find_squared_ratio):
            with pytest.raises(ValueError, match="points"):
                measure(points)
        return
    exact = find_squared_ratio(points)
    assert exact == measure_ratio(points)
    answer = score(points)
    assume(isinstance(answer, Scored))
    assert isinstance(answer, Scored)
    value = float(str(answer.details["value"]))
    assert Fraction(math.nextafter(value, 0)) < exact <= Fraction(value)
    assert answer.score == 3 / value
    assert evaluator(len(points)).verify(found(answer)).value == exact


@given(WHOLE)
def test_floats_give_the_same_ratio_but_for_rounding(points: list[tuple[int, int]]) -> None:
    distances = [math.dist(*pair) for pair in combinations(points, 2)]
    assert float(measure_ratio(floats(points))) == pytest.approx((max(distances) / min(distances)) ** 2)


@given(WHOLE, st.integers(-40, 40), st.integers(-99, 99), st.tuples(st.integers(-9, 9), st.integers(1, 9)))
def test_neither_size_nor_place_nor_direction_matters(points: Any, power: int, shift: int, turn: Any) -> None:
    a, b = turn
    moved = [((a * x - b * y + shift) * 2.0**power, (b * x + a * y - shift) * 2.0**power) for x, y in points]
    assert measure_ratio(floats(moved[::-1])) == measure_ratio(floats(points))


def test_the_columns_are_what_is_logged_to_the_last_bit() -> None:
    points = [[0.1, -0.0], [TINY, 0.2], [1 / 3, 1e22]]
    answer = scored(points)
    assert {name: type(value) for name, value in answer.details.items()} == evaluator(3).columns
    assert json.loads(str(answer.details["points"])) == points


@pytest.mark.parametrize("n", [2, 3, 16, 100])
def test_the_seed_places_any_number_of_points_on_a_circle(n: int) -> None:
    names: dict[str, Any] = {}
    exec(start_of("distances", n), names)  # noqa: S102 (our own)
    points = names["place_points"]()
    assert points.shape == (n, 2)
    expected = (math.sin(math.pi * (n // 2) / n) / math.sin(math.pi / n)) ** 2
    assert scored(points.tolist()).details["value"] == pytest.approx(expected)


def test_the_seed_leaves_much_to_be_found() -> None:
    names: dict[str, Any] = {}
    exec(start_of("distances", 16), names)  # noqa: S102 (our own)
    assert 0.4 < scored(names["place_points"]().tolist(), Distances.reference).score < 0.5


def test_a_hundred_points_are_as_many_as_can_be_asked_for() -> None:
    for n in (1, 101):
        with pytest.raises(InputError, match=f"task.n must be from 2 to 100 for task=distances, got {n}"):
            plan("task=distances", f"task.n={n}", "task.reference=9")


def test_another_number_of_points_needs_its_own_reference() -> None:
    with pytest.raises(
        InputError, match=re.escape("task.reference=12.88923 is for task.n=16; give the one for task.n=12")
    ):
        plan("task=distances", "task.n=12")
    assert Distances.find_violations(ProgramSettings(evaluator="distances", n=12, reference=9.0)) == []


def test_a_log_that_contradicts_its_points_is_not_a_record() -> None:
    answer = scored(SQUARE)
    for changed in ({"value": math.nextafter(2, 0)}, {"points": "[[0,0],[1,0],[0,0],[1,1]]"}):
        with pytest.raises(
            ServiceError, match=r"the result of call 113 differs from the logged one .*; please report this"
        ):
            evaluator(4).verify(found(Scored(answer.score, {**answer.details, **changed})))


def test_a_result_is_compared_with_what_is_known_of_so_many_points() -> None:
    tested = evaluator(16)
    grid = [[float(x), float(y)] for x in range(4) for y in range(4)]
    verified = tested.verify(found(scored(grid)))
    assert (verified.value, verified.best_known, verified.is_record) == (18, BEST_KNOWN["distances"][16], False)
    assert verified.behind == 18 - Fraction("12.88923")
    assert evaluator(4).verify(found(scored(SQUARE))).best_known is None


@pytest.mark.parametrize("pool", [0, None])
def test_a_candidate_is_shown_as_numbers_and_as_a_picture(pool: int | None) -> None:
    tested = evaluator(4)
    assert json.loads(tested.report(found(scored(SQUARE)))["points.json"]) == {"points": SQUARE, "value": 2.0}
    (picture,) = tested.illustrate(found(scored(SQUARE), pool)).values()
    assert Image.open(io.BytesIO(picture)).format == "PNG"


def test_the_picture_shows_the_shortest_and_the_longest_distances() -> None:
    assert find_extremes(SQUARE) == ([(0, 1), (0, 3), (1, 2), (2, 3)], [(0, 2), (1, 3)])
    axes = Figure().subplots()
    places = draw_distances(axes, SQUARE)
    assert places == [tuple(point) for point in SQUARE]
    drawn = [{*zip(*line.get_data(), strict=True)} for line in axes.lines]
    assert drawn == [{places[one], places[other]} for one, other in [(0, 2), (1, 3), (0, 1), (0, 3), (1, 2), (2, 3)]]


@pytest.mark.parametrize("size", [TINY, 1e-300, 1.0, HUGE])
def test_points_of_any_size_fill_the_picture(size: float) -> None:
    points = [[-size, 0.0], [size, 0.0], [0.0, size]]
    assert fit(points) == [(0, 0.25), (1, 0.25), (0.5, 0.75)]
    (picture,) = evaluator(3).illustrate(found(scored(points))).values()
    assert Image.open(io.BytesIO(picture)).format == "PNG"


def test_a_model_is_told_of_the_points_and_the_score() -> None:
    told = evaluator(16, 12.88923).description
    for words in ("Place 16 points", "`place_points()`", "(16, 2)", "is 12.88923 divided by", "30 seconds"):
        assert words in told
    assert "$" not in told


@pytest.mark.slow
def test_a_run_improves_on_the_seed_and_its_log_proves_it(tmp_path: Any) -> None:
    run = run_here(
        "task=distances",
        "method=graph_ga",
        "method.offspring=4",
        "budget.oracle_calls=20",
        "evaluator.workers=1",
        f"outputs={tmp_path}",
    )
    evaluated = [row for row in rows(run, "evaluations") if row["call"] is not None and row["valid"]]
    for row in evaluated:
        assert row["value"] == pytest.approx(float(find_squared_ratio(json.loads(row["points"]))), rel=1e-15)
    first, best = evaluated[0], min(evaluated, key=lambda row: row["value"])
    assert best["value"] < 0.7 * first["value"]
    told = json.loads((run / "best/verified.json").read_text())
    assert told["value"] == pytest.approx(best["value"], rel=1e-15)
    assert (run / "best/points.png").read_bytes().startswith(b"\x89PNG")
