"""Coverage and QD score, computed by hand."""

import pytest

from evodiverse.results.metrics.features import find_features, measure_features, tell_features
from evodiverse.runlog.log import Log
from tests.results.builders import evaluated_row, make_log

BOUNDS = {"search__features__a": [0, 1], "search__features__b": [10.0, 30.0]}


def log_of(*rows: tuple[float | None, float | None, float | None, bool]) -> Log:
    """Return a log of candidates with their score, features a and b, and validity."""
    attempts = [
        {**evaluated_row(1, call, str(call), score), "a": a, "b": b, "valid": valid}
        for call, (score, a, b, valid) in enumerate(rows, start=1)
    ]
    return make_log(attempts, [[[1]]], **BOUNDS)


def test_the_best_of_each_cell_of_20_by_20_counts() -> None:
    log = log_of((0.5, 0.01, 10.1, True), (0.7, 0.04, 10.9, True), (0.6, 0.06, 10.1, True), (0.1, 0.01, 11.1, True))
    assert measure_features(log) == {"coverage": 3 / 400, "qd_score": pytest.approx(0.7 + 0.6 + 0.1)}


def test_values_outside_of_the_bounds_belong_to_the_cells_at_the_edge() -> None:
    log = log_of((0.5, 1.0, 30.0, True), (0.7, 99.0, 1e300, True), (0.2, -5.0, 0.0, True), (0.3, 0.0, 10.0, True))
    assert measure_features(log) == {"coverage": 2 / 400, "qd_score": pytest.approx(0.7 + 0.3)}


def test_a_value_too_far_outside_of_the_bounds_for_a_float_belongs_to_the_cell_at_the_edge() -> None:
    attempts = [{**evaluated_row(1, 1, "1", 0.5), "a": 1e308, "valid": True}]
    log = make_log(attempts, [[[1]]], search__features__a=[0, 1e-3])
    assert measure_features(log) == {"coverage": 1 / 400, "qd_score": 0.5}


def test_failed_candidates_and_those_without_a_feature_do_not_count() -> None:
    log = log_of((0.5, 0.5, 20.0, True), (0.0, 0.1, 20.0, False), (0.9, None, 20.0, True), (None, 0.3, 20.0, True))
    assert measure_features(log) == {"coverage": 1 / 400, "qd_score": 0.5}
    assert tell_features(log) == "a, b: 0.2% of 400 cells covered, QD score 0.5"


def test_a_run_without_features_has_no_such_metrics() -> None:
    assert measure_features(make_log([evaluated_row(1, 1, "k", 0.5)], [[[1]]])) == {}


def test_bounds_that_cannot_be_used_are_left_out() -> None:
    bounds = {"a": [1, 0], "b": "x", "c": [0, None], "d": [0, 1, 2], "e": [0, float("inf")], "f": [0, 1]}
    bounds["g"] = [-1e308, 1e308]  # farther apart than any float
    assert find_features({f"search.features.{name}": value for name, value in bounds.items()}) == {"f": (0, 1)}
