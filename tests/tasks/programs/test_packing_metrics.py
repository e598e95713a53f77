"""The metrics of circle-packing runs, on a run worked by hand."""

import pytest

from evodiverse.diversity.distances import mean_cosine_distance
from evodiverse.diversity.tfidf import tfidf
from evodiverse.runlog.log import Log
from evodiverse.tasks.programs.metrics import measure_packing
from tests.analysis.builders import evaluated_row, make_log

# call, pool, program, sums; the third one failed, and the fourth is valid within the tolerance alone
PROGRAMS = [
    (1, None, "a = 1", 1.0, 1.0),
    (2, 0, "b = 2", 2.0, 1.9),
    (3, 1, "c = 3", None, None),
    (4, 1, "b = 2  # again", 2.5, 1.5),
]


def log_of(programs: list[tuple[int, int | None, str, float | None, float | None]] = PROGRAMS) -> Log:
    rows = [
        {
            **evaluated_row(call - 1, call, f"k{call}", total),
            "pool": pool,
            "genotype": program,
            "valid": total is not None,
            "sum_radii": total,
            "strict_sum": strict,
        }
        for call, pool, program, total, strict in programs
    ]
    return make_log(rows, [[[1], [1]], [[1, 2], [1, 3, 4]]])


def test_sums_are_those_of_valid_packings_alone() -> None:
    found = measure_packing(log_of(), {})
    assert (found["best_sum"], found["strict_sum"]) == (2.5, 1.9)
    assert found["top100_sum"] == pytest.approx((1.0 + 2.0 + 2.5) / 3)


def test_without_a_valid_packing_sums_are_zero() -> None:
    found = measure_packing(log_of([(call, pool, text, None, None) for call, pool, text, *_ in PROGRAMS]), {})
    assert (found["best_sum"], found["strict_sum"], found["top100_sum"]) == (0.0, 0.0, 0.0)
    assert found["pool_origin"] == [0.0, 0.0]


def test_origins_are_the_pools_that_made_the_best() -> None:
    assert measure_packing(log_of(), {})["pool_origin"] == pytest.approx([100 / 3, 100 / 3])


def test_diversity_is_that_of_the_last_pools_and_counts_a_shared_program_once() -> None:
    # every program has the token <Assign>; programs 2 and 4 are the same, 1 and 3 differ from them alike
    found = measure_packing(log_of(), {"tfidf": tfidf})
    cold, hot = found["pool_diversity.tfidf"]
    assert 0 < cold < 1
    assert hot > cold
    assert found["diversity.tfidf"] < hot


def test_the_diversity_of_a_run_is_that_of_all_its_valid_programs() -> None:
    valid = tfidf(["a = 1", "b = 2", "b = 2"])
    found = measure_packing(log_of(), {"tfidf": tfidf})
    assert found["run_diversity.tfidf"] == pytest.approx(mean_cosine_distance(valid))
