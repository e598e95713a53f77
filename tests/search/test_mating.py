"""Slots, mating pools and parents."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evodiverse.search.mating import Slot, deal_slots, draw_mating_pools, make_requests
from evodiverse.search.settings import MatingPool
from evodiverse.search.streams import Purpose, Streams
from evodiverse.vocabulary import Prompt, Request
from tests.search.builders import as_lists, make_archive, make_method, make_pools, normalized

SCORES = [0.9, 0.0, 0.35, 0.6, 0.05, 0.2]
STREAMS = Streams(3)
sizes = st.lists(st.integers(0, 3), min_size=1, max_size=4)


def requests_of(
    mating_pools: list[list[int]], *, parents: int = 2, attempt: int = 1, **changes: object
) -> list[Request]:
    slots = [Slot(slot, pool) for slot in range(2) for pool in range(len(mating_pools))]
    arrays = [np.array(calls, dtype=np.int64) for calls in mating_pools]
    method = make_method(parents=parents, **changes)
    return make_requests(4, attempt, slots, arrays, arrays, make_archive(SCORES), method, STREAMS)


def test_slots_are_dealt_to_the_pools_in_turn() -> None:
    assert deal_slots(make_pools([1], [2], [3]), 2, 5) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_an_empty_pool_gets_no_slot() -> None:
    assert deal_slots(make_pools([], [2], []), 2, 9) == [Slot(0, 1), Slot(1, 1)]


@pytest.mark.parametrize("calls_left", [0, -1])
def test_no_slot_opens_without_calls_left(calls_left: int) -> None:
    assert deal_slots(make_pools([1], [2]), 2, calls_left) == []


@given(sizes, st.integers(0, 5), st.integers(0, 30))
def test_dealing_is_fair_and_within_budget(pool_sizes: list[int], offspring: int, calls_left: int) -> None:
    pools = make_pools(*[range(1, size + 1) for size in pool_sizes])
    slots = deal_slots(pools, offspring, calls_left)
    dealt = Counter(slot.pool for slot in slots)
    shares = [dealt[pool] for pool, size in enumerate(pool_sizes) if size]
    assert len(slots) == min(calls_left, offspring * len(shares))
    assert len(slots) == len(set(slots))
    assert slots == sorted(slots)
    assert all(size or not dealt[pool] for pool, size in enumerate(pool_sizes))
    assert not shares or max(shares) - min(shares) <= 1


def mating_pools(iteration: int, size: int, *, replacement: bool, weight: str = "score_floor") -> list[list[int]]:
    method = make_method(mating_pool=MatingPool(size, replacement, weight))
    pools = make_pools([1, 2, 3, 4], [3, 5, 6])
    return as_lists(draw_mating_pools(iteration, pools, make_archive(SCORES), method, STREAMS))


def test_mating_pools_with_replacement_have_the_requested_size_for_any_pool() -> None:
    assert [len(calls) for calls in mating_pools(1, 70, replacement=True)] == [70, 70]


def test_mating_pools_without_replacement_are_distinct_and_capped_at_the_pool() -> None:
    drawn = mating_pools(1, 20, replacement=False)
    assert [sorted(calls) for calls in drawn] == [[1, 2, 3, 4], [3, 5, 6]]


@given(st.integers(0, 200), st.integers(1, 3), st.booleans())
def test_a_mating_pool_holds_only_members_of_its_pool(iteration: int, size: int, replacement: bool) -> None:
    cold, hot = mating_pools(iteration, size, replacement=replacement)
    assert set(cold) <= {1, 2, 3, 4}
    assert set(hot) <= {3, 5, 6}


def test_an_empty_pool_has_an_empty_mating_pool() -> None:
    drawn = draw_mating_pools(1, make_pools([], [2]), make_archive(SCORES), make_method(), STREAMS)
    assert [calls.size for calls in drawn] == [0, 4]


def test_molecules_mate_in_proportion_to_score_plus_floor() -> None:
    drawn = Counter(call for k in range(100) for call in mating_pools(k, 100, replacement=True)[0])
    exact = normalized([s + 0.02 / 4 for s in SCORES[:4]])
    assert stats.chisquare([drawn[c] for c in (1, 2, 3, 4)], [10_000 * p for p in exact]).pvalue > 1e-3


def test_the_check_of_mating_probabilities_detects_a_wrong_floor() -> None:
    drawn = Counter(call for k in range(100) for call in mating_pools(k, 100, replacement=True)[0])
    wrong = normalized([s + 0.02 / 6 + 1e-12 for s in SCORES[:4]])
    assert stats.chisquare([drawn[c] for c in (1, 2, 3, 4)], [10_000 * p for p in wrong]).pvalue < 0.05


def test_each_pool_weighs_by_its_own_beta() -> None:
    method = make_method(ladder=(50.0, 0.0), mating_pool=MatingPool(1000, replacement=True, weight="boltzmann"))
    pools = make_pools([1, 2, 3], [1, 2, 3])
    cold, hot = as_lists(draw_mating_pools(1, pools, make_archive([0.9, 0.0, 0.35]), method, STREAMS))
    assert set(cold) == {1}
    assert set(hot) == {1, 2, 3}


def test_mating_pools_of_equal_pools_are_drawn_independently() -> None:
    method = make_method(ladder=(1.0, 1.0), mating_pool=MatingPool(30, replacement=True, weight="boltzmann"))
    cold, hot = as_lists(draw_mating_pools(1, make_pools([1, 2], [1, 2]), make_archive([0.5, 0.5]), method, STREAMS))
    assert cold != hot


def test_requests_come_in_the_order_of_the_slots() -> None:
    assert [(r.slot, r.pool) for r in requests_of([[1, 2], [3, 4]])] == [(0, 0), (0, 1), (1, 0), (1, 1)]


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.integers(1, 4))
def test_parents_are_distinct_members_of_the_mating_pool(calls: list[int], parents: int) -> None:
    for request in requests_of([calls], parents=parents):
        drawn = [parent.call for parent in request.parents]
        assert len(drawn) == len(set(drawn)) == min(parents, len(set(calls)))
        assert set(drawn) <= set(calls)


def test_parents_are_drawn_uniformly_from_the_mating_pool() -> None:
    slots = [Slot(slot, 0) for slot in range(6000)]
    pool = [np.array([1, 2, 3, 4])]
    requests = make_requests(4, 1, slots, pool, pool, make_archive(SCORES), make_method(), STREAMS)
    pairs = Counter(tuple(parent.call for parent in request.parents) for request in requests)
    assert len(pairs) == 12
    assert stats.chisquare(list(pairs.values())).pvalue > 1e-3


def test_a_request_holds_the_best_member_of_its_pool_the_oldest_among_equals() -> None:
    requests = make_requests(
        4,
        1,
        [Slot(0, 0), Slot(0, 1)],
        make_pools([2], [3]),
        make_pools([5, 2, 6], [4, 3, 5]),
        make_archive([0.9, 0.2, 0.6, 0.6, 0.1, 0.2]),
        make_method(),
        STREAMS,
    )
    assert [request.best.call for request in requests] == [2, 3]


def test_a_request_holds_its_address_and_its_own_stream() -> None:
    request = requests_of([[1, 2], [3, 4]], attempt=2)[3]
    assert (request.iteration, request.pool, request.slot, request.attempt) == (4, 1, 1, 2)
    assert request.stream == STREAMS.at(Purpose.OPERATOR, 4, pool=1, slot=1, attempt=2)


def test_another_attempt_draws_other_parents() -> None:
    calls = [[1, 2, 3, 4, 5, 6]] * 3
    first, second = (
        [[parent.call for parent in request.parents] for request in requests_of(calls, attempt=attempt)]
        for attempt in (1, 2)
    )
    assert first != second


def test_only_the_coldest_rung_never_takes_the_hot_prompt() -> None:
    prompts = [request.prompt for request in requests_of([[1], [2], [3]])[:3]]
    assert prompts == [Prompt.COLD, Prompt.HOT, Prompt.HOT]


def test_a_method_may_give_the_cold_prompt_to_all_rungs() -> None:
    requests = requests_of([[1], [2]], hot_prompt=Prompt.COLD)
    assert {request.prompt for request in requests} == {Prompt.COLD}
