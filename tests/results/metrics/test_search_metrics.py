"""Metrics of the search, on logs with known results."""

import pytest

from evodiverse.results.metrics.search import (
    count_hot_descendants,
    count_round_trips,
    first_call_at,
    measure_search,
    swap_acceptance,
)
from tests.results.builders import Row, evaluated_row, make_log


def swap(
    cold_call: int, hot_call: int, *, pools: tuple[int, int] = (0, 1), accepted: bool = True, **more: object
) -> Row:
    cold_pool, hot_pool = pools
    places = {
        "iteration": 5,
        "cold_pool": cold_pool,
        "hot_pool": hot_pool,
        "cold_call": cold_call,
        "hot_call": hot_call,
    }
    return {**places, "accepted": accepted, "blocked": False, **more}


# Acceptance


def test_the_acceptance_is_the_accepted_share_of_the_swaps_that_were_not_blocked() -> None:
    tried = [swap(1, 2, accepted=accepted) for accepted in (True, False, False, False)]
    blocked = [swap(1, 2, accepted=False, blocked=True)] * 5
    assert swap_acceptance(make_log(swaps=[*tried, *blocked])) == [0.25]


def test_each_two_neighbors_on_the_ladder_have_an_acceptance_cold_to_hot() -> None:
    swaps = [
        swap(1, 2, pools=(1, 2)),
        swap(1, 2, accepted=False),
        swap(1, 2, pools=(2, 3), accepted=False, blocked=True),
    ]
    ladder = [1, 0.8, 0.5, 0.3, 0.1]
    assert swap_acceptance(make_log(swaps=swaps, method__ladder=ladder)) == [0.0, 1.0, None, None]


def test_without_swaps_there_is_no_acceptance() -> None:
    assert swap_acceptance(make_log()) is None


# Round trips


def test_a_candidate_that_returns_from_the_hottest_pool_has_completed_a_round_trip() -> None:
    assert count_round_trips(make_log(swaps=[swap(1, 2), swap(3, 1)])) == 1


def test_a_candidate_from_the_hot_pool_has_to_leave_the_cold_one_first() -> None:
    up = [swap(1, 2), swap(2, 3)]  # 2 comes to the cold pool and leaves it again
    assert count_round_trips(make_log(swaps=up)) == 0
    assert count_round_trips(make_log(swaps=[*up, swap(4, 2)])) == 1


def test_every_trip_of_a_candidate_counts() -> None:
    assert count_round_trips(make_log(swaps=[swap(1, 2), swap(2, 1), swap(1, 2), swap(2, 1)])) == 3  # 1, 2, 1


def test_a_swap_that_was_not_accepted_moves_nothing() -> None:
    assert count_round_trips(make_log(swaps=[swap(1, 2), swap(3, 1, accepted=False)])) == 0


def test_half_the_ladder_is_no_trip() -> None:
    middle = [swap(1, 2, pools=(0, 1)), swap(3, 1, pools=(0, 1))]
    ladder = [0.8, 0.4, 0.2]
    assert count_round_trips(make_log(swaps=middle, method__ladder=ladder)) == 0
    whole = [swap(1, 2), swap(1, 8, pools=(1, 2)), swap(9, 1, pools=(1, 2)), swap(3, 1)]
    assert count_round_trips(make_log(swaps=whole, method__ladder=ladder)) == 1


def test_a_candidate_that_is_proposed_again_starts_over() -> None:
    lost = [swap(1, 2), swap(1, 8, pools=(1, 2))]  # it dies in the hottest pool, and is proposed again in the coldest
    assert count_round_trips(make_log(swaps=[*lost, swap(1, 3), swap(4, 1)], method__ladder=[0.8, 0.4, 0.2])) == 0


def test_a_run_without_swaps_has_no_trips_to_count() -> None:
    assert count_round_trips(make_log()) is None


# Lineage


def born(call: int, pool: int | None, parents: tuple[int, ...] = (), score: float = 0.5) -> Row:
    return {**evaluated_row(1, call, f"k{call}", score), "pool": pool, "parents": list(parents)}


def test_descendants_of_the_hot_pool_are_counted_through_all_generations() -> None:
    rows = [born(1, 0), born(2, 1), born(3, 0, (1,)), born(4, 0, (1, 2)), born(5, 0, (3, 4)), born(6, 1)]
    assert count_hot_descendants(make_log(rows, [[[1, 3, 5], [5, 6]]])) == 2  # 5 by way of 4 and 2, and 6


def test_only_the_ten_best_of_the_final_pools_count() -> None:
    rows = [born(call, 0, score=1.0) for call in range(1, 11)] + [born(11, 1, score=0.1)]
    assert count_hot_descendants(make_log(rows, [[list(range(1, 12)), []]])) == 0


def test_initial_candidates_that_all_pools_share_come_from_no_pool() -> None:
    assert count_hot_descendants(make_log([born(1, None)], [[[1], [1]]])) == 0


@pytest.mark.parametrize("ladder", [[0.8], [0.8, 0.8], ["inf"]])
def test_where_no_pool_is_hotter_there_is_no_descent(ladder: list[float]) -> None:
    assert count_hot_descendants(make_log([born(1, 0)], [[[1]]], method__ladder=ladder)) is None


# Time to a score


def test_the_first_call_with_at_least_the_score_counts() -> None:
    log = make_log([born(1, 0, score=0.2), born(2, 0, score=0.7), born(3, 0, score=0.9)], [[[1, 2, 3]]])
    assert [first_call_at(log, target) for target in (0.1, 0.7, 0.71, 0.95)] == [1, 2, 3, None]


def test_failed_evaluations_reach_nothing() -> None:
    assert first_call_at(make_log([born(1, 0) | {"score": None}, born(2, 0)], [[[2]]]), 0.5) == 2


def test_metrics_of_targets_are_named_by_their_score() -> None:
    found = measure_search(make_log([born(1, 0)], [[[1], []]]), (0.5, -1e-6))
    assert (found["calls_to_0.5"], found["calls_to_-1e-06"]) == (1, 1)
