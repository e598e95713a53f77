"""Circle packing: what a program is asked for, what its packing scores, and what is kept of it."""

import io
import json
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evodiverse.ports import Discovery
from evodiverse.tasks.programs.circle_packing.evaluator import CirclePacking, measure
from evodiverse.tasks.programs.circle_packing.packing import find_violation
from evodiverse.tasks.programs.evaluator import BEST_KNOWN, Scored
from evodiverse.tasks.programs.settings import ProgramSettings
from evodiverse.vocabulary import Array, Candidate, Job, Limits, Reason, Rejection
from tests.tasks.programs.samples import start_of

LIMITS = Limits(30, 2048)
TWO = CirclePacking(ProgramSettings(evaluator="circle_packing", n=2, reference=0.5))
CENTERS = np.array([[0.25, 0.3], [0.6, 0.7]])
RADII = np.array([0.1, 0.3])


def scored(centers: np.ndarray = CENTERS, radii: np.ndarray = RADII, reported: float = 0.0) -> Scored:
    answer = TWO.score((centers, radii, np.float64(reported)))
    assert isinstance(answer, Scored)
    return answer


def found(answer: Scored, pool: int | None = 1) -> Discovery:
    return Discovery(Candidate(113, "source", "key", answer.score, -answer.score, details=answer.details), 57, pool)


def run(source: str) -> tuple[np.ndarray, np.ndarray, float]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)  # noqa: S102 (our own)
    result: tuple[np.ndarray, np.ndarray, float] = namespace[CirclePacking.entry_point]()
    return result


def test_a_program_is_asked_for_centers_radii_and_their_sum() -> None:
    returns = (Array((2, 2)), Array((2,)), Array(()))
    assert TWO.job("source") == Job("source", "construct_packing", (), returns, LIMITS)


def test_the_score_is_the_sum_of_the_radii_in_units_of_the_reference() -> None:
    assert scored().score == pytest.approx(0.4 / 0.5, abs=1e-15)
    assert scored().details["sum_radii"] == 0.4


def test_the_reported_sum_is_ignored() -> None:
    assert scored(reported=1e9) == scored(reported=0.4)


@pytest.mark.parametrize(
    ("radii", "detail"),
    [
        ([0.1, 0.31], "circle 1 leaves the square by 0.01"),
        ([0.24, 0.295], "circles 0 and 1 overlap by 0.00349"),
        ([0.1, -0.1], "circle 1 has a negative radius (-0.1)"),
    ],
)
def test_circles_that_are_not_a_packing_are_rejected_with_the_reason(radii: list[float], detail: str) -> None:
    assert TWO.score((CENTERS, np.array(radii), 0.4)) == Rejection(Reason.INVALID, detail)


def test_circles_of_no_size_score_nothing() -> None:
    assert scored(radii=np.zeros(2)).score == 0


def test_a_packing_is_verified_against_the_best_known_sum_for_its_number_of_circles() -> None:
    assert TWO.verify(found(scored())).best_known is None
    assert {n: float(known.value) for n, known in BEST_KNOWN["circle_packing"].items()} == {
        26: 2.6359830849,
        32: 2.9395727712,
    }


def test_what_is_tolerated_counts_in_the_score_but_not_in_the_strict_sum() -> None:
    score, details, _ = scored(radii=np.array([0.1, 0.3 + 0.9e-6]))
    assert score == details["sum_radii"] / 0.5
    assert details["sum_radii"] == pytest.approx(0.4 + 0.9e-6, abs=1e-12)
    assert details["strict_sum"] == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_strict_sum_is_never_above_the_sum(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums = measure(rng.random((9, 2)), rng.random(9) / rng.choice([1, 10, 100]))
    assert 0 <= sums["strict_sum"] <= sums["sum_radii"]


def test_the_packing_is_logged_to_the_last_bit() -> None:
    centers, radii = CENTERS + 1 / 30, RADII / 3
    packing = json.loads(str(scored(centers, radii).details["packing"]))
    assert np.array(packing["centers"]).tobytes() == centers.tobytes()
    assert np.array(packing["radii"]).tobytes() == radii.tobytes()


def test_the_columns_are_what_is_logged() -> None:
    assert {name: type(value) for name, value in scored().details.items()} == TWO.columns


def test_a_candidate_is_shown_as_numbers() -> None:
    record = json.loads(TWO.report(found(scored()))["packing.json"])
    assert record == {"centers": CENTERS.tolist(), "radii": [0.1, 0.3], "sum_radii": 0.4, "strict_sum": 0.4}


@pytest.mark.parametrize("pool", [0, None])
def test_a_candidate_is_shown_as_a_picture(pool: int | None) -> None:
    files = TWO.illustrate(found(scored(), pool))
    assert list(files) == ["packing.png"]
    assert Image.open(io.BytesIO(files["packing.png"])).format == "PNG"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 26, 27, 50, 100])
def test_the_seed_program_packs_any_number_of_circles(n: int) -> None:
    centers, radii, total = run(start_of("circle_packing", n))
    assert (centers.shape, radii.shape) == ((n, 2), (n,))
    assert find_violation(centers, radii) is None
    assert radii.min() > 0
    assert total == pytest.approx(math.fsum(radii), abs=1e-12)


def test_the_seed_program_leaves_much_to_be_found() -> None:
    assert run(start_of("circle_packing", 26))[2] == pytest.approx(1, abs=0.05)


def test_the_seed_program_shows_how_many_circles_it_packs() -> None:
    assert start_of("circle_packing", 7).count("\nN = 7\n") == 1
    assert "26" not in start_of("circle_packing", 7)
