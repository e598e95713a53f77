"""The front and the hypervolume of runs with several objectives."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.results.metrics.pareto import (
    find_objectives,
    follow_hypervolume,
    highlight_front,
    measure_hypervolume,
    measure_pareto,
)
from evodiverse.runlog.log import Log
from evodiverse.search.pareto import Objective
from tests.results.builders import evaluated_row, make_log

PARETO = {"task__pareto": ["a", "3-b"]}
points = st.integers(2, 4).flatmap(lambda d: st.lists(st.tuples(*[st.integers(-1, 4)] * d), min_size=1, max_size=8))


def log_of(*rows: tuple[float | None, float | None, float | None, bool]) -> Log:
    """Return a log of candidates with their score, the value of component a, column b, and validity."""
    attempts = [
        {**evaluated_row(1, call, str(call), score), "a_value": a, "b": b, "valid": valid}
        for call, (score, a, b, valid) in enumerate(rows, start=1)
    ]
    return make_log(attempts, [[[1]]], **PARETO)


@given(points)
def test_the_hypervolume_is_the_number_of_unit_cells_below_a_point(some: list[tuple[int, ...]]) -> None:
    cells = product(range(4), repeat=len(some[0]))
    covered = sum(any(all(at < most for at, most in zip(cell, one, strict=True)) for one in some) for cell in cells)
    assert measure_hypervolume(np.array(some, dtype=float)) == covered


def test_the_hypervolume_is_the_share_of_random_points_below_the_front() -> None:
    rng = np.random.default_rng(7)
    front = rng.random((12, 5)) ** 0.2
    below = (rng.random((100_000, 1, 5)) <= front).all(axis=2).any(axis=1).mean()
    assert measure_hypervolume(front) == pytest.approx(below, abs=4 * (0.25 / 100_000) ** 0.5)


def test_the_front_and_its_hypervolume_grow_with_the_calls() -> None:
    log = log_of((0.1, 1.0, 2.0, True), (0.5, 0.5, 2.5, True), (0.3, 0.5, 0.0, True), (0.2, 1.5, 1.0, True))
    assert measure_pareto(log) == {
        "hypervolume": 1.5 * 2 + 0.5,
        "best_score": 0.5,
        "front_size": 2,
        "curve.hypervolume_calls": [1, 3, 4],
        "curve.hypervolume": [1.0, 1.0 + 0.5 * 2, 3.5],
    }


def test_what_is_beyond_the_bound_is_on_the_front_without_volume() -> None:
    log = log_of((0.1, 1.0, 2.0, True), (0.1, 9.0, 4.0, True))
    assert follow_hypervolume(log) == [(1, 1.0), (2, 1.0)]
    assert measure_pareto(log)["curve.hypervolume_calls"] == [1]


def test_failed_candidates_and_those_without_a_value_do_not_count() -> None:
    log = log_of((0.5, 0.5, 1.0, True), (0.0, 0.9, 0.5, False), (0.9, None, 0.0, True), (None, 0.8, 0.1, True))
    measured = measure_pareto(log)
    assert (measured["hypervolume"], measured["front_size"], measured["best_score"]) == (1.0, 1, 0.9)


def test_the_first_to_show_are_the_least_crowded_of_the_front() -> None:
    front = [(0.5, at, at, True) for at in (0.5, 0.0, 0.55, 1.0, 0.9, 0.6)]
    highlight = highlight_front(log_of((0.9, 0.0, 2.0, True), *front))
    assert highlight is not None
    assert (highlight.title, highlight.calls) == ("Front", [3, 5, 2, 6, 7, 4])
    assert highlight.note.startswith("6 candidates on the front of a, 3-b: ")
    assert "hypervolume is 2.322." in highlight.note


def test_ten_of_a_long_front_are_shown() -> None:
    highlight = highlight_front(log_of(*((0.5, at, at, True) for at in np.linspace(0, 1, 30).tolist())))
    assert highlight is not None
    assert len(highlight.calls) == 10


def test_a_run_without_objectives_has_no_front() -> None:
    log = make_log([evaluated_row(1, 1, "k", 0.5)], [[[1]]])
    assert (measure_pareto(log), highlight_front(log)) == ({}, None)


def test_a_run_without_valid_candidates_has_no_volume() -> None:
    log = log_of((None, None, None, False))
    assert measure_pareto(log)["hypervolume"] == 0.0
    assert highlight_front(log) is None


@pytest.mark.parametrize("names", [["a", "c"], ["a"], "a", ["a", 1]])
def test_objectives_that_cannot_be_used_are_none(names: object) -> None:
    columns = ["a_value", "b"]
    assert find_objectives({"task.pareto": names}, columns) == ()
    assert find_objectives({"task.pareto": ["a", "3-b"]}, columns) == (Objective("a_value"), Objective("b", 3.0))
