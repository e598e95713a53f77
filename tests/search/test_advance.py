"""Successive iterations: survivors, exchange when it is due, ξ and the counters."""

from collections.abc import Sequence

import numpy as np
import pytest

from evodiverse.search.adaptation import Thermostat
from evodiverse.search.advance import advance
from evodiverse.search.archive import Archive
from evodiverse.search.attempts import Attempts
from evodiverse.search.exchange import Pools
from evodiverse.search.mating import deal_slots, make_requests
from evodiverse.search.settings import Method, Search, Survivors
from evodiverse.search.state import IterationInfo, Progress, State
from evodiverse.search.streams import Streams
from evodiverse.vocabulary import Evaluation, Hypothesis, Outcome, Proposal
from tests.search.builders import SEARCH, as_lists, make_archive, make_method, make_pools, replay

STREAMS = Streams(2)
SCORES = [0.1, 0.8, 0.3, 0.9, 0.2, 0.6]


class Run:
    """A search whose offspring get scores from the test, each with its own key."""

    def __init__(self, method: Method, *pools: list[int], search: Search = SEARCH, top: int = 3) -> None:
        self.method, self.search = method, search
        self.archive: Archive = make_archive(SCORES, top=top)
        first: Pools = make_pools(*pools)
        progress = Progress(top_mean=self.archive.top_mean())
        self.state = State(0, first, Thermostat(method.swap.xi), progress)
        self.info = IterationInfo(0, first, ())

    def step(self, *scores: float) -> tuple[State, IterationInfo]:
        """Advance by one iteration whose first slots yield candidates with these scores."""
        return self.answer([f"new{self.state.iteration}.{number}" for number in range(len(scores))], scores)

    def answer(self, keys: Sequence[str], scores: Sequence[float]) -> tuple[State, IterationInfo]:
        """Advance by one iteration whose first slots propose these keys; the new ones among them get the scores."""
        iteration = self.state.iteration + 1
        slots = deal_slots(self.state.pools, self.method.offspring, len(keys))
        attempts = Attempts(slots, self.state.pools, self.archive)
        requests = make_requests(
            iteration, 1, slots, self.state.pools, self.state.pools, self.archive, self.method, STREAMS
        )
        attempts.settle(requests, [(Proposal(key, "toy"), Hypothesis(key, key)) for key in keys])
        attempts.close([Evaluation(score, -score) for score in scores])
        self.state, self.info = advance(self.state, attempts, self.archive, self.method, self.search, STREAMS)
        return self.state, self.info

    def steps(self, count: int) -> list[IterationInfo]:
        return [self.step()[1] for _ in range(count)]


def test_a_search_starts_at_iteration_zero_with_the_initial_pools_and_xi() -> None:
    run = Run(make_method(xi=1.5), [1, 2], [3])
    assert (run.state.iteration, run.state.thermostat.xi) == (0, 1.5)
    assert as_lists(run.info.pools) == as_lists(run.state.pools) == [[1, 2], [3]]
    assert run.state.progress == Progress(0, 0, pytest.approx((0.9 + 0.8 + 0.6) / 3))


def test_offspring_join_the_pool_that_requested_them() -> None:
    state, _ = Run(make_method(rule="none"), [1, 2], [3]).step(0.5, 0.4, 0.7)
    assert as_lists(state.pools) == [[1, 2, 7, 9], [3, 8]]


def test_survivors_are_chosen_from_members_and_offspring_together() -> None:
    method = make_method(rule="none", capacity=2, survivors=Survivors("append", "score_power"))
    state, _ = Run(method, [1, 2], [3, 4]).step(0.5, 0.05, 0.95, 0.35)
    assert as_lists(state.pools) == [[2, 9], [4, 10]]


def test_pools_exchange_when_the_period_divides_the_iteration() -> None:
    infos = Run(make_method(period=3), [1, 2], [3, 4]).steps(7)
    assert [info.iteration for info in infos if info.trials] == [3, 6]
    assert [info.iteration for info in infos if info.adaptations] == [3, 6]


def test_populations_are_the_state_after_the_exchange() -> None:
    run = Run(make_method(period=1, rule="random"), [1, 2], [3, 4])
    state, info = run.step()
    assert as_lists(info.pools) == as_lists(state.pools) == replay(make_pools([1, 2], [3, 4]), info.trials)
    assert as_lists(state.pools) != [[1, 2], [3, 4]]


def test_swaps_use_the_xi_from_before_and_adaptation_logs_the_xi_after() -> None:
    run = Run(make_method(period=1, target=0.0, tolerance=0.0, xi=2.0), [1, 2], [3, 4])
    first, second = run.steps(2)
    assert {trial.xi for trial in first.trials} == {2.0}
    assert [row.xi for row in first.adaptations] == [2.0 * 1.1]
    assert {trial.xi for trial in second.trials} == {2.0 * 1.1}


def test_random_exchange_does_not_adapt_xi() -> None:
    state, info = Run(make_method(period=1, rule="random"), [1, 2], [3, 4]).step()
    assert info.adaptations == ()
    assert state.thermostat.xi == 2.5


def test_an_event_with_only_blocked_pairs_logs_no_rate_and_does_not_change_xi() -> None:
    state, info = Run(make_method(period=1), [1, 2], [1, 2]).step()
    assert [(row.rate, row.xi, row.accepted, row.tried) for row in info.adaptations] == [(None, 2.5, 0, 0)]
    assert state.thermostat.rates == ()


def test_the_whole_ladder_has_one_rate_and_each_pair_logs_its_own_counts() -> None:
    run = Run(make_method(period=1, ladder=(1.0, 0.5, 0.1), size=2), [1, 2], [3, 4], [5, 6])
    _, info = run.step()
    assert [(row.cold_pool, row.hot_pool) for row in info.adaptations] == [(0, 1), (1, 2)]
    assert [row.tried for row in info.adaptations] == [2, 2]
    rate = sum(trial.accepted for trial in info.trials) / 4
    assert {row.rate for row in info.adaptations} == {sum(row.accepted for row in info.adaptations) / 4} == {rate}


def test_a_window_counts_events_not_iterations() -> None:
    infos = Run(make_method(period=2, window=2, target=0.0, tolerance=0.0), [1, 2], [3, 4]).steps(8)
    xis = [row.xi for info in infos for row in info.adaptations]
    assert xis == [2.5, 2.5 * 1.1, 2.5 * 1.1, 2.5 * 1.1 * 1.1]


def test_the_ring_logs_its_copies_and_no_trials() -> None:
    _, info = Run(make_method(period=1, rule="ring", size=1), [1, 2], [3, 4]).step()
    assert [(m.from_pool, m.to_pool, m.call) for m in info.migrations] == [(0, 1, 2), (1, 0, 4)]
    assert (info.trials, info.adaptations) == ((), ())


def test_survivors_bring_a_pool_back_to_capacity_after_a_ring_event() -> None:
    run = Run(make_method(period=2, rule="ring", size=2, capacity=2), [1, 2], [3, 4])
    sizes = [[pool.size for pool in info.pools] for info in run.steps(3)]
    assert sizes == [[2, 2], [4, 4], [2, 2]]


def test_an_iteration_without_a_charge_counts_as_idle_and_a_charge_resets_it() -> None:
    run = Run(make_method(), [1, 2], [3])
    idle = [run.step(*scores)[0].progress.idle for scores in ((), (), (0.1,), ())]
    assert idle == [1, 2, 0, 1]


def test_an_iteration_with_only_duplicates_and_reused_candidates_is_idle() -> None:
    state, info = Run(make_method(), [1, 2], [3]).answer(["k1", "k1"], [])
    assert [attempt.outcome for attempt in info.attempts] == [Outcome.DUPLICATE, Outcome.REUSED]
    assert state.progress.idle == 1


def test_the_mean_of_the_best_covers_all_evaluated_candidates() -> None:
    method = make_method(rule="none", capacity=1, elites=1)
    run = Run(method, [1], [5], top=2)
    state, _ = run.step(0.95)
    assert state.progress.top_mean == pytest.approx((0.95 + 0.9) / 2)


def test_an_empty_pool_stays_empty_without_an_error() -> None:
    run = Run(make_method(period=1), [1, 2], [])
    state, info = run.step(0.5)
    assert as_lists(state.pools) == [[1, 2, 7], []]
    assert [row.rate for row in info.adaptations] == [None]


def test_advancing_does_not_change_the_previous_state() -> None:
    run = Run(make_method(period=1, rule="random", capacity=2), [1, 2], [3, 4])
    before = run.state
    run.step(0.5, 0.5, 0.5)
    assert (before.iteration, as_lists(before.pools)) == (0, [[1, 2], [3, 4]])


def test_pools_are_always_sorted_arrays_of_calls() -> None:
    run = Run(make_method(period=2, ladder=(1.0, 0.5, 0.1), capacity=3, elites=1), [1, 2], [3, 4], [5, 6])
    for number in range(12):
        state, _ = run.step(*np.random.default_rng(number).random(4).tolist())
        assert all(pool.dtype == np.int64 and pool.tolist() == sorted(set(pool.tolist())) for pool in state.pools)
        assert all(pool.size <= 3 for pool in state.pools)
