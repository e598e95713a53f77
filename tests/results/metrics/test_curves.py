"""The curves of a run, computed by hand."""

from hypothesis import given
from hypothesis import strategies as st

from evodiverse.results.metrics.search import measure_curves, measure_exchanges, swap_acceptance
from evodiverse.runlog.log import find_rises
from tests.results.builders import evaluated_row, make_log


def swap(iteration: int, cold_pool: int, accepted: bool, xi: float, blocked: bool = False) -> dict[str, object]:
    pools = {"cold_pool": cold_pool, "hot_pool": cold_pool + 1}
    return {"iteration": iteration, **pools, "accepted": accepted, "blocked": blocked, "xi": xi}


def test_calls_are_counted_up_to_the_end_of_each_iteration() -> None:
    rows = [evaluated_row(0, 1, "A", 0.2), evaluated_row(0, 2, "B", 0.1), evaluated_row(2, 3, "C", 0.5)]
    assert measure_curves(make_log(rows, [[[1, 2]], [[1, 2]], [[3]]]))["curve.calls"] == [2, 2, 3]


def test_records_are_scores_above_all_before() -> None:
    scores = [0.2, None, 0.1, 0.5, 0.5, 0.7]
    log = make_log([evaluated_row(0, call, str(call), score) for call, score in enumerate(scores, start=1)], [[[1]]])
    found = measure_curves(log)
    assert (found["curve.best_calls"], found["curve.best"]) == ([1, 4, 6], [0.2, 0.5, 0.7])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_the_last_record_is_the_largest_value(values: list[float]) -> None:
    calls, records = find_rises(enumerate(values, start=1))
    assert records == sorted(records)
    assert records[-1:] == ([max(values)] if values else [])
    assert calls == [next(at for at, value in enumerate(values, start=1) if value == record) for record in records]


def test_each_two_neighbors_have_their_acceptance_and_their_xi_at_each_exchange() -> None:
    swaps = [
        *(swap(5, 0, accepted, 2.5) for accepted in (True, False, False, True)),
        swap(5, 1, True, 2.5),
        swap(10, 0, True, 2.75),
        swap(10, 0, False, 2.75, blocked=True),
    ]
    assert measure_exchanges(make_log(swaps=swaps)) == {
        "curve.exchanges": [5.0, 10.0],
        "curve.swap_acceptance.0": [0.5, 1.0],
        "curve.xi.0": [2.5, 2.75],
        "curve.swap_acceptance.1": [1.0, None],
        "curve.xi.1": [2.5, None],
    }


def test_acceptance_by_exchange_weighted_by_what_was_tried_is_that_of_the_table() -> None:
    swaps = [swap(5, 0, True, 1.0), swap(10, 0, True, 1.0), swap(10, 0, False, 1.0), swap(10, 0, False, 1.0)]
    log = make_log(swaps=swaps)
    shares = measure_exchanges(log)["curve.swap_acceptance.0"]
    assert isinstance(shares, list)
    (first, second), (overall,) = shares, swap_acceptance(log)  # type: ignore[misc, union-attr]
    assert (1 * first + 3 * second) / 4 == overall  # type: ignore[operator]


def test_a_run_without_swaps_has_no_exchanges() -> None:
    assert measure_exchanges(make_log()) == {}
