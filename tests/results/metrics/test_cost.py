"""The cost of runs, on logs with known results."""

from dataclasses import replace

import pytest

from evodiverse.results.metrics.cost import measure_cost, measure_generations, measure_rates, median_iteration_seconds
from evodiverse.runlog.runs import Run
from tests.results.builders import Row, evaluated_row, make_log


def attempt(outcome: str, iteration: int = 1, llm_call: int | None = None, seconds: float | None = None) -> Row:
    return {"iteration": iteration, "outcome": outcome, "llm_call": llm_call, "seconds": seconds}


def request(llm_call: int, outcome: str = "parsed", **more: object) -> Row:
    counted = {"prompt_tokens": 100, "completion_tokens": 20, "cost_usd": 0.25, "seconds": 2.0}
    return {"llm_call": llm_call, "outcome": outcome, **counted, **more}


def test_calls_tokens_usd_and_hours_are_summed() -> None:
    log = make_log([evaluated_row(0, 1, "a", 0.5)], [[[1]], [[1]]], llm_calls=[request(1), request(2)])
    found = measure_cost(replace(log, run=Run(log.run.path, {**log.run.record, "seconds": {"wall": 5400}})))
    expected = {
        "oracle_calls": 1,
        "iterations": 1,
        "llm_calls": 2,
        "tokens_millions": 240 / 1e6,
        "cost_usd": 0.5,
        "wall_hours": 1.5,
    }
    assert {name: found[name] for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    ("unknown", "metric"),
    [("prompt_tokens", "tokens_millions"), ("completion_tokens", "tokens_millions"), ("cost_usd", "cost_usd")],
)
def test_what_a_provider_did_not_count_is_not_known(unknown: str, metric: str) -> None:
    found = measure_cost(make_log(states=[[[]]], llm_calls=[request(1), request(2, **{unknown: None})]))
    assert found[metric] is None


def test_invalid_replies_are_those_without_an_answer_and_those_rejected() -> None:
    attempts = [
        attempt("evaluated", llm_call=1),
        attempt("rejected", llm_call=2),
        attempt("rejected", llm_call=3),
        attempt("duplicate", llm_call=4),
        attempt("reused", llm_call=5),
        attempt("rejected", llm_call=6),
    ]
    outcomes = {1: "parsed", 2: "invalid", 3: "no_answer", 4: "parsed", 5: "parsed", 6: "error"}
    log = make_log(attempts, llm_calls=[request(call, outcome) for call, outcome in outcomes.items()])
    assert measure_rates(log) == {"invalid_percent": pytest.approx(40), "duplicate_percent": pytest.approx(20)}


def test_an_answer_that_the_classical_operator_stood_in_for_is_invalid_all_the_same() -> None:
    log = make_log([attempt("evaluated", llm_call=1)], llm_calls=[request(1, "no_answer")])
    assert measure_rates(log)["invalid_percent"] == 100


def test_without_a_model_attempts_count_but_not_the_initial_ones() -> None:
    outcomes = ["evaluated", "rejected", "duplicate", "reused"]
    log = make_log([attempt("rejected", iteration=0), *map(attempt, outcomes)])
    assert measure_rates(log) == {"invalid_percent": 25, "duplicate_percent": 25}


def test_a_run_of_initial_candidates_alone_has_no_rates() -> None:
    assert measure_rates(make_log([attempt("evaluated", iteration=0)])) == {
        "invalid_percent": None,
        "duplicate_percent": None,
    }


def test_evaluations_that_failed_are_counted_apart() -> None:
    rows = [evaluated_row(0, 1, "a", None), evaluated_row(1, 2, "b", 0.0), evaluated_row(1, 3, "c", 0.5)]
    attempts = [{**row, "valid": valid} for row, valid in zip(rows, (False, False, True), strict=True)]
    found = measure_cost(make_log(attempts, [[[1]], [[3]]]))
    assert (found["failed_percent"], found["invalid_percent"]) == (50, 0)


def test_an_iteration_takes_as_long_as_its_slowest_attempt_request_and_evaluation_together() -> None:
    attempts = [
        attempt("evaluated", 0, seconds=99.0),
        attempt("evaluated", 1, llm_call=1, seconds=0.5),
        attempt("evaluated", 1, llm_call=2, seconds=3.0),
        attempt("rejected", 2, llm_call=3),
        attempt("evaluated", 3, seconds=10.0),
    ]
    requests = [request(1, seconds=4.0), request(2, seconds=1.0), request(3, seconds=6.0)]
    assert median_iteration_seconds(make_log(attempts, llm_calls=requests)) == 6.0  # of 4.5, 6 and 10
    assert median_iteration_seconds(make_log(attempts[:1])) is None


def test_generations_are_those_of_the_settings() -> None:
    log = make_log(method__ladder=[0.8, 0.4, 0.2], method__capacity=50, budget__oracle_calls=300)
    assert measure_generations(log) == {"n_pools": 3, "capacity": 50, "parents": 2, "offspring": 2, "budget": 300}
