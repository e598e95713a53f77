"""The metrics of circle-packing runs, on a run worked by hand, and of programs nearly as good as the best."""

from collections import Counter
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.diversity.distances import Encode, mean_cosine_distance
from evodiverse.diversity.tfidf import find_tokens, tfidf
from evodiverse.ports import Tools
from evodiverse.runlog.log import Log, Measurement, read_log_so_far
from evodiverse.runlog.runs import Run
from evodiverse.tasks.programs.metrics import PackingMetrics, ProgramMetrics, TaskMetrics, count_near_best
from tests.results.builders import evaluated_row, make_log, make_record, write_parts, write_record

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
            "value": 10.0 * call,
        }
        for call, pool, program, total, strict in programs
    ]
    return make_log(rows, [[[1], [1]], [[1, 2], [1, 3, 4]]])


def measure_packing(log: Log, encoders: dict[str, Encode]) -> Measurement:
    return PackingMetrics().measure(log, Tools(Path(), encoders))


def test_sums_are_those_of_valid_packings_alone() -> None:
    found = measure_packing(log_of(), {})
    assert (found["best_sum"], found["strict_sum"]) == (2.5, 1.9)
    assert found["top100_sum"] == pytest.approx((1.0 + 2.0 + 2.5) / 3)


def test_records_of_sums_are_those_of_valid_packings_and_end_with_the_best() -> None:
    found = measure_packing(log_of(), {})
    sums = found["curve.sum"]
    assert isinstance(sums, list)
    assert sums == sorted(set(sums))  # type: ignore[type-var]
    assert sums[-1] == found["best_sum"]
    assert measure_packing(log_of([(1, 0, "pass", None, None)]), {})["curve.sum"] == []


def test_without_a_valid_packing_sums_are_zero() -> None:
    found = measure_packing(log_of([(call, pool, text, None, None) for call, pool, text, *_ in PROGRAMS]), {})
    assert (found["best_sum"], found["strict_sum"], found["top100_sum"]) == (0.0, 0.0, 0.0)
    assert found["pool_origin"] == [0.0, 0.0]


def test_origins_are_the_pools_that_made_the_best() -> None:
    assert measure_packing(log_of(), {})["pool_origin"] == pytest.approx([100 / 3, 100 / 3])


@pytest.mark.parametrize("other", [1.0, 0.5])
def test_only_the_best_100_have_an_origin_and_the_older_of_equal_ones_come_first(other: float) -> None:
    programs = [(call, int(call <= 60), "pass", 1.0 if call <= 60 else other, 1.0) for call in range(1, 121)]
    found = measure_packing(log_of(programs), {})
    assert found["pool_origin"] == [40.0, 60.0]
    assert found["top100_sum"] == pytest.approx(0.6 + 0.4 * other)


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


# Programs near the best

SHORT, LONG = "a = 1", "\n".join(f"b{n} = c{n}" for n in range(60))
ALIKE = f"{LONG}\na = 1"  # differs from the long one in 3 tokens of 180


def near_best_of(*programs: tuple[str, float | None]) -> tuple[float, float]:
    """Count the programs near the best, and those that differ, of programs with their scores, by call; None failed."""
    rows = [
        {**evaluated_row(0, call, f"k{call}", score or 0.0), "genotype": program, "valid": score is not None}
        for call, (program, score) in enumerate(programs, start=1)
    ]
    found = count_near_best(make_log(rows, [[[1]]]))
    return found["n_near_best"], found["n_different_near_best"]


def test_programs_within_one_percent_of_the_best_count() -> None:
    assert near_best_of((SHORT, 0.5), (LONG, 0.495), ("z = 7 + 8", 0.4949)) == (2, 2)


def test_programs_that_differ_little_count_once_whichever_is_better() -> None:
    assert near_best_of((LONG, 0.5), (ALIKE, 0.499), (SHORT, 0.498)) == (3, 2)
    assert near_best_of((LONG, 0.5), (ALIKE, 0.501)) == (2, 1)


@pytest.mark.parametrize("programs", [(), ((SHORT, None),), ((SHORT, 0.0), (LONG, 0.0))])
def test_where_no_program_scores_none_is_near_the_best(programs: tuple[tuple[str, float | None], ...]) -> None:
    assert near_best_of(*programs) == (0, 0)


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=4), st.sampled_from([None, 0.0, 0.6, 0.995, 1.0]))))
def test_programs_near_the_best_are_counted_as_the_definition_says(drawn: list[tuple[str, float | None]]) -> None:
    programs = [("\n".join(letters), score) for letters, score in drawn]
    best = max((score for _, score in programs if score is not None), default=0.0)
    near = [one for one in programs if one[1] is not None and best > 0 and one[1] >= 0.99 * best]
    taken: list[Counter[str]] = []
    for program, _ in sorted(near, key=lambda one: one[1] or 0.0, reverse=True):
        counts = Counter(find_tokens(program))
        if all(angle(counts, other) < 0.98 for other in taken):
            taken.append(counts)
    assert near_best_of(*programs) == (len(near), len(taken))


def angle(one: Counter[str], other: Counter[str]) -> float:
    squares = sum(n * n for n in one.values()) * sum(n * n for n in other.values())
    return sum(one[token] * other[token] for token in one) / sqrt(squares)


def test_programs_of_a_users_evaluator_have_their_best_score_and_those_near_it(tmp_path: Path) -> None:
    found = ProgramMetrics().measure(log_of(), Tools(tmp_path, {}))
    assert found == {"best_score": 2.5, "n_near_best": 1, "n_different_near_best": 1}


def test_the_numbers_of_a_users_evaluator_are_those_of_the_best_program(tmp_path: Path) -> None:
    write_record(tmp_path)
    numbers = {"length": 3.0, "seconds_full": 1.0, "feedback": "so", "valid": True, "genotype": "a = 1"}
    rows = [evaluated_row(0, call, f"k{call}", score) | numbers for call, score in ((1, 0.5), (2, 0.75))]
    write_parts(tmp_path, "evaluations", [[rows[0]], [rows[1] | {"length": 2.5}]])
    log = read_log_so_far(Run(tmp_path, make_record()), {"genotype": str})
    found = ProgramMetrics().measure(log, Tools(tmp_path, {}))
    assert {name: value for name, value in found.items() if name.startswith("own.")} == {"own.length": 2.5}


def test_built_in_tasks_have_the_value_of_their_best_program(tmp_path: Path) -> None:
    found = TaskMetrics().measure(log_of(), Tools(tmp_path, {}))
    assert found == {"best_value": 40.0, "best_score": 2.5, "n_near_best": 1, "n_different_near_best": 1}
    failed = log_of([(call, pool, text, None, None) for call, pool, text, *_ in PROGRAMS])
    assert TaskMetrics().measure(failed, Tools(tmp_path, {}))["best_value"] is None
