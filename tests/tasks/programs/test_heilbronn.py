"""Heilbronn's problem: what points are valid, what they score, and that nothing is tolerated."""

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
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from PIL import Image

from evodiverse.errors import InputError, ServiceError
from evodiverse.ports import Discovery
from evodiverse.sandbox.processes import ProcessSandbox
from evodiverse.tasks.programs.evaluator import BEST_KNOWN, Scored
from evodiverse.tasks.programs.heilbronn.evaluator import (
    Heilbronn,
    draw_triangles,
    find_smallest,
    measure_share,
    to_place,
)
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.tasks.programs.task import ProgramTask
from evodiverse.vocabulary import Candidate, Evaluation, Hypothesis, Reason, Rejection
from tests.runs import plan, rows, run_here
from tests.tasks.programs.samples import start_of

CORNERS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
MIDDLES = [[0.5, 0.5], [0.0, 0.5], [0.5, 0.0]]
TINY = math.ulp(0.0)

COORDINATES = st.floats(0, 1) | st.sampled_from([0.0, -0.0, TINY, 1e-300, 0.5, math.nextafter(1, 0), 1.0])
POINTS = st.tuples(COORDINATES, COORDINATES).map(lambda point: fold(*point))


def fold(x: float, y: float) -> list[float]:
    """Return a point of the triangle for one of the unit square."""
    return [x, y] if Fraction(x) + Fraction(y) <= 1 else [(1 - x) / 2, (1 - y) / 2]


SETS = st.lists(POINTS, min_size=3, max_size=7)


def find_smallest_share(points: Sequence[Sequence[float]]) -> Fraction:
    """Return the smallest area of a triangle that three points form, as a share of the triangle (0,0), (1,0), (0,1).

    The share of three points is the absolute value of the determinant of their barycentric coordinates. This shares no
    code with the scoring.

    Raises:
        ValueError: A point has a negative barycentric coordinate and therefore lies outside the triangle.
    """
    rows = [(1 - Fraction(x) - Fraction(y), Fraction(x), Fraction(y)) for x, y in points]
    for number, row in enumerate(rows):
        if min(row) < 0:
            raise ValueError(f"point {number} has a negative barycentric coordinate")
    return min(abs(_determinant(*three)) for three in combinations(rows, 3))


def _determinant(a: Sequence[Fraction], b: Sequence[Fraction], c: Sequence[Fraction]) -> Fraction:
    cross = (b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0])
    return sum((x * y for x, y in zip(a, cross, strict=True)), Fraction(0))


def evaluator(n: int, reference: float = 0.5) -> Heilbronn:
    return Heilbronn(ProgramSettings(evaluator="heilbronn", n=n, reference=reference))


def score(points: list[list[float]], reference: float = 0.5) -> Scored | Rejection:
    return evaluator(len(points), reference).score((np.array(points),))


def scored(points: list[list[float]], reference: float = 0.5) -> Scored:
    answer = score(points, reference)
    assert isinstance(answer, Scored), answer
    return answer


def found(answer: Scored, pool: int | None = 1) -> Discovery:
    return Discovery(Candidate(113, "source", "key", answer.score, -answer.score, details=answer.details), 57, pool)


def evaluate(source: str, n: int = 11) -> Evaluation:
    """Return what a program scores in the real sandbox."""
    sandbox = ProcessSandbox()
    task = ProgramTask(evaluator(n, Heilbronn.reference), sandbox, [source], 10_000)
    (evaluation,) = task.evaluate([Hypothesis(source, "k")])
    sandbox.close()
    return evaluation


@pytest.mark.parametrize(
    ("points", "share"),
    [
        (CORNERS, 1.0),
        (MIDDLES, 0.25),
        ([*CORNERS, [0.25, 0.25]], 0.25),
        ([*CORNERS, [0.5, 0.25]], 0.25),
        ([[0.0, 0.0], [0.25, 0.0], [0.0, 0.25]], 1 / 16),
        ([*CORNERS, [0.5, 0.5]], 0.0),
        ([*CORNERS, [0.0, 0.0]], 0.0),
    ],
)
def test_the_value_is_the_smallest_share_of_the_area(points: list[list[float]], share: float) -> None:
    answer = scored(points, 0.5)
    assert (answer.details["value"], answer.score) == (share, 2 * share)


@pytest.mark.parametrize(
    ("point", "is_inside"),
    [
        ([0.0, 1.0], True),
        ([-0.0, 0.5], True),
        ([0.5, 0.5], True),
        ([TINY, 1.0], False),  # floats add up to 1
        ([1.0, TINY], False),
        ([math.nextafter(0.5, 1), 0.5], False),
        ([math.nextafter(1, 0), 1e-300], True),
        ([math.nextafter(1, 0), 2**-53 + 2**-105], False),  # so do these
        ([-TINY, 0.5], False),
        ([1e300, -1e300], False),
        ([-1e300, 1e300], False),
        ([1.7e308, 1.7e308], False),
    ],
)
def test_nothing_is_tolerated_at_the_edges(point: list[float], is_inside: bool) -> None:
    points = [[0.25, 0.125], [0.125, 0.5], point]
    answer = score(points)
    assert isinstance(answer, Scored) == is_inside
    if isinstance(answer, Rejection):
        assert (answer.reason, answer.detail) == (Reason.INVALID, "point 2 lies outside the triangle")
        with pytest.raises(ValueError, match="point 2"):
            find_smallest_share(points)


@given(SETS)
def test_score_and_another_method_agree_and_the_float_never_flatters(points: list[list[float]]) -> None:
    exact = find_smallest_share(points)
    value = float(str(scored(points).details["value"]))
    assert exact == measure_share(points)
    assert Fraction(value) <= exact < Fraction(math.nextafter(value, 2))
    assert evaluator(len(points)).verify(found(scored(points))).value == exact


@given(SETS)
def test_floats_give_the_same_share_but_for_rounding(points: list[list[float]]) -> None:
    areas = [
        abs(ax * by - bx * ay + bx * cy - cx * by + cx * ay - ax * cy)
        for (ax, ay), (bx, by), (cx, cy) in combinations(points, 3)
    ]
    assert float(measure_share(points)) == pytest.approx(min(areas), abs=1e-14)


@given(SETS, st.permutations([0, 1, 2]), st.randoms(use_true_random=False))
def test_neither_the_order_nor_the_symmetries_of_the_triangle_matter(points: Any, order: Any, random: Any) -> None:
    shares = [(Fraction(x), Fraction(y), 1 - Fraction(x) - Fraction(y)) for x, y in points]
    turned = [(share[order[0]], share[order[1]]) for share in shares]
    random.shuffle(turned)
    assert find_smallest_share(turned) == measure_share(points)  # type: ignore[arg-type]


@given(SETS, st.integers(0, 30))
def test_a_triangle_half_as_wide_has_a_quarter_of_the_area(points: list[list[float]], halvings: int) -> None:
    normal = [[x if x > 1e-280 else 0.0, y if y > 1e-280 else 0.0] for x, y in points]
    small = [[x / 2**halvings, y / 2**halvings] for x, y in normal]
    assert measure_share(small) == measure_share(normal) / 4**halvings


def test_a_share_too_small_for_a_float_counts_as_none() -> None:
    assert scored([[0.0, 0.0], [TINY, 0.0], [0.0, TINY]]).score == 0


def test_the_columns_are_what_is_logged_to_the_last_bit() -> None:
    points = [[0.1, -0.0], [TINY, 0.2], [1 / 3, 1 / 3]]
    answer = scored(points)
    assert {name: type(value) for name, value in answer.details.items()} == evaluator(3).columns
    assert json.loads(str(answer.details["points"])) == points


@pytest.mark.parametrize("n", [3, 4, 11, 40])
def test_the_seed_places_any_number_of_points_and_leaves_much_to_be_found(n: int) -> None:
    evaluation = evaluate(start_of("heilbronn", n), n)
    assert evaluation.valid, evaluation.error
    assert 0 < evaluation.score < (0.2 if n == 11 else 30)


@pytest.mark.parametrize(
    ("returned", "error"),
    [
        ("np.zeros((10, 2))", "wrong_result: value 1 has the shape (10, 2), expected (11, 2)"),
        ("None", "wrong_result: value 1 holds object, expected numbers"),
        ("np.full((11, 2), np.nan)", "non_finite: value 1 holds 22 numbers that are not finite"),
        ("np.full((11, 2), 1e300)", "invalid: point 0 lies outside the triangle"),
        ("unknown", "crashed: NameError: name 'unknown' is not defined (line 3)"),
    ],
)
def test_values_that_are_not_points_are_rejected_with_the_reason(returned: str, error: str) -> None:
    evaluation = evaluate(f"import numpy as np\ndef place_points():\n    return {returned}\n")
    assert (evaluation.score, evaluation.error) == (0.0, error)


def test_forty_points_are_as_many_as_can_be_asked_for() -> None:
    for n in (2, 41):
        with pytest.raises(InputError, match=f"task.n must be from 3 to 40 for task=heilbronn, got {n}"):
            plan("task=heilbronn", f"task.n={n}", "task.reference=0.01")


def test_another_number_of_points_needs_its_own_reference() -> None:
    with pytest.raises(
        InputError, match=re.escape("task.reference=0.0365299 is for task.n=11; give the one for task.n=12")
    ):
        plan("task=heilbronn", "task.n=12")
    assert Heilbronn.find_violations(ProgramSettings(evaluator="heilbronn", n=12, reference=0.03)) == []
    assert Heilbronn.find_violations(ProgramSettings(evaluator="heilbronn")) == [
        "task.n has no value; task=heilbronn sets it",
        "task.reference has no value; give the smallest share of the triangle's area that scores 1",
    ]


def test_a_log_that_contradicts_its_points_is_not_a_record() -> None:
    answer = scored(MIDDLES)
    for changed in ({"value": math.nextafter(0.25, 1)}, {"points": "[[0,0],[2,0],[0,1]]"}):
        with pytest.raises(
            ServiceError, match=r"the result of call 113 differs from the logged one .*; please report this"
        ):
            evaluator(3).verify(found(Scored(answer.score, {**answer.details, **changed})))


def test_a_result_is_compared_with_what_is_known_of_so_many_points() -> None:
    assert evaluator(3).verify(found(scored(CORNERS))).best_known is None
    rng = np.random.default_rng(0)
    points = rng.dirichlet([1, 1, 1], 11)[:, :2]
    tested = evaluator(11)
    answer = tested.score((points / 1.001,))
    assert isinstance(answer, Scored)
    verified = tested.verify(found(answer))
    assert verified.best_known == BEST_KNOWN["heilbronn"][11]
    assert (verified.is_record, verified.behind is not None and verified.behind > 0) == (False, True)


def test_a_candidate_is_shown_as_numbers_and_as_a_picture() -> None:
    tested = evaluator(4)
    answer = scored([*CORNERS, [0.25, 0.25]])
    assert json.loads(tested.report(found(answer))["points.json"]) == {
        "points": [*CORNERS, [0.25, 0.25]],
        "value": 0.25,
    }
    for pool in (0, None):
        (picture,) = tested.illustrate(found(answer, pool)).values()
        assert Image.open(io.BytesIO(picture)).format == "PNG"


def test_the_picture_shows_the_smallest_triangles() -> None:
    assert find_smallest([*CORNERS, [0.25, 0.25]]) == [(0, 1, 3), (0, 2, 3)]
    sides = [math.dist(*pair) for pair in combinations([to_place(x, y) for x, y in CORNERS], 2)]
    assert sides == pytest.approx([1.0] * 3)
    axes = Figure().subplots()
    places = draw_triangles(axes, [*CORNERS, [0.25, 0.25]])
    assert places[2][1] > places[0][1]
    drawn = [{tuple(corner) for corner in patch.get_xy().tolist()} for patch in axes.patches[1:]]
    assert drawn == [{places[index] for index in triangle} for triangle in [(0, 1, 3)] * 2 + [(0, 2, 3)] * 2]


def test_a_model_is_told_of_the_points_and_the_score() -> None:
    told = evaluator(11, 0.0365299).description
    for words in ("Place 11 points", "`place_points()`", "(11, 2)", "divided by 0.0365299", "30 seconds"):
        assert words in told
    assert "$" not in told


@pytest.mark.slow
def test_a_run_improves_on_the_seed_and_its_log_proves_it(tmp_path: Any) -> None:
    run = run_here(
        "task=heilbronn",
        "method=graph_ga",
        "method.offspring=4",
        "budget.oracle_calls=20",
        "evaluator.workers=1",
        f"outputs={tmp_path}",
    )
    evaluated = [row for row in rows(run, "evaluations") if row["call"] is not None and row["valid"]]
    for row in evaluated:
        assert row["value"] == pytest.approx(float(find_smallest_share(json.loads(row["points"]))), rel=1e-15)
    first, best = evaluated[0], max(evaluated, key=lambda row: row["value"])
    assert best["value"] > 3 * first["value"]
    told = json.loads((run / "best/verified.json").read_text())
    assert told["value"] == pytest.approx(best["value"], rel=1e-15)
    assert (run / "best/points.png").read_bytes().startswith(b"\x89PNG")
