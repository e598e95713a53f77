"""The bookkeeping of the exchange: no candidate is lost, duplicated or invented, and the log can be replayed."""

from collections import Counter
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evodiverse.search.exchange import Event, Pools, exchange_rules, log_acceptance, schedules, swap_rate
from evodiverse.search.streams import Streams
from tests.search.builders import as_lists, make_event, make_method, make_pools, replay

N_CALLS = 9
SWAP_RULES = ["metropolis", "random"]


@st.composite
def worlds(draw: st.DrawFn, rules: list[str]) -> tuple[Pools, Event]:
    """Draw pools that may be empty and may share calls, and an exchange event between them."""
    n_pools = draw(st.integers(1, 5))
    pools = [draw(st.sets(st.integers(1, N_CALLS))) for _ in range(n_pools)]
    energies = draw(st.lists(st.floats(-3, 3), min_size=N_CALLS, max_size=N_CALLS))
    method = make_method(
        ladder=tuple(np.linspace(1.0, 0.1, n_pools).tolist()),
        rule=draw(st.sampled_from(rules)),
        schedule=draw(st.sampled_from(sorted(schedules))),
        size=draw(st.integers(1, 6)),
    )
    event = make_event(
        method,
        energies,
        xi=draw(st.sampled_from([0.0, 0.3, 2.5, 40.0])),
        iteration=5 * draw(st.integers(1, 9)),
        seed=draw(st.integers(0, 2**64 - 1)),
    )
    return make_pools(*pools), event


def exchange(pools: Pools, event: Event):
    return exchange_rules[event.method.swap.rule](pools, event)


@given(worlds(SWAP_RULES))
def test_swaps_conserve_all_members_and_the_size_of_each_pool(world: tuple[Pools, Event]) -> None:
    before, after = as_lists(world[0]), as_lists(exchange(*world).pools)
    assert Counter(chain(*after)) == Counter(chain(*before))
    assert [len(pool) for pool in after] == [len(pool) for pool in before]


@given(worlds(sorted(exchange_rules)))
def test_no_pool_holds_a_candidate_twice_after_an_exchange(world: tuple[Pools, Event]) -> None:
    assert all(pool == sorted(set(pool)) for pool in as_lists(exchange(*world).pools))


@given(worlds(sorted(exchange_rules)))
def test_an_exchange_does_not_change_its_input(world: tuple[Pools, Event]) -> None:
    before, energies = as_lists(world[0]), world[1].energies.copy()
    exchange(*world)
    assert as_lists(world[0]) == before
    assert world[1].energies.tolist() == energies.tolist()


@given(worlds(sorted(exchange_rules)))
def test_an_exchange_depends_only_on_its_pools_and_event(world: tuple[Pools, Event]) -> None:
    one, other = exchange(*world), exchange(*world)
    assert (as_lists(one.pools), one.trials, one.migrations) == (as_lists(other.pools), other.trials, other.migrations)


@given(worlds(SWAP_RULES))
def test_replaying_the_trials_gives_the_exchanged_pools(world: tuple[Pools, Event]) -> None:
    exchanged = exchange(*world)
    assert replay(world[0], exchanged.trials) == as_lists(exchanged.pools)


@given(worlds(SWAP_RULES))
def test_each_pair_is_decided_after_the_previous_one_has_taken_effect(world: tuple[Pools, Event]) -> None:
    pools, event = world
    trials = exchange(pools, event).trials
    for number, trial in enumerate(trials):
        cold, hot = (set(replay(pools, trials[:number])[pool]) for pool in (trial.cold_pool, trial.hot_pool))
        assert trial.cold_call in cold
        assert trial.hot_call in hot
        assert trial.blocked == (trial.hot_call in cold or trial.cold_call in hot)
        assert trial.accepted == (not trial.blocked and trial.log_u <= min(0.0, trial.log_accept))


@given(worlds(["metropolis"]))
def test_the_logged_acceptance_is_the_formula_of_the_paper(world: tuple[Pools, Event]) -> None:
    pools, event = world
    for trial in exchange(pools, event).trials:
        h_1, h_2 = float(event.energies[trial.cold_call - 1]), float(event.energies[trial.hot_call - 1])
        beta_1, beta_2 = event.method.ladder[trial.cold_pool], event.method.ladder[trial.hot_pool]
        assert trial.xi == event.xi
        assert trial.log_accept == pytest.approx(-event.xi * (beta_1 - beta_2) * (h_2 - h_1), abs=1e-12)


@given(worlds(["random"]))
def test_random_exchange_accepts_every_unblocked_pair_at_a_xi_of_zero(world: tuple[Pools, Event]) -> None:
    exchanged = exchange(*world)
    assert all(trial.accepted != trial.blocked for trial in exchanged.trials)
    assert all((trial.xi, trial.log_accept) == (0.0, 0.0) for trial in exchanged.trials)
    assert not exchanged.adapts


@given(worlds(SWAP_RULES))
def test_pairs_are_distinct_and_limited_by_the_smaller_pool(world: tuple[Pools, Event]) -> None:
    pools, event = world
    exchanged = exchange(pools, event)
    for cold, hot in exchanged.pairs:
        trials = [trial for trial in exchanged.trials if (trial.cold_pool, trial.hot_pool) == (cold, hot)]
        size = min(event.method.swap.size, pools[cold].size, pools[hot].size)
        assert len(trials) == len({t.cold_call for t in trials}) == len({t.hot_call for t in trials}) == size


def test_candidates_are_drawn_uniformly_for_an_exchange() -> None:
    method, n_events = make_method(size=2), 4000
    pools, energies = make_pools([1, 2, 3], [4, 5, 6, 7]), [0.9, 0.1, 0.5, 0.3, 0.8, 0.2, 0.4]
    counts = np.zeros((8, 8))
    for k in range(n_events):
        for trial in exchange_rules["metropolis"](pools, make_event(method, energies, iteration=k)).trials:
            counts[trial.cold_call, trial.hot_call] += 1
    expected = 2 * n_events / 12
    assert np.abs(counts[1:4, 4:8] - expected).max() < 4.5 * np.sqrt(expected)


def test_a_blocked_pair_moves_nothing_and_has_no_rate() -> None:
    pools = make_pools([1, 2], [1, 2])
    exchanged = exchange_rules["metropolis"](pools, make_event(make_method(), [5.0, 0.0]))
    assert as_lists(exchanged.pools) == [[1, 2], [1, 2]]
    assert [trial.blocked for trial in exchanged.trials] == [True, True]
    assert swap_rate(exchanged.trials) is None


@pytest.mark.parametrize(("cold", "hot"), [([1], [1, 2]), ([1, 2], [2])])
def test_a_pair_is_blocked_when_either_side_is_already_in_the_other_pool(cold: list[int], hot: list[int]) -> None:
    event = make_event(make_method(size=1), [0.0, -9.0])
    trials = [
        trial
        for k in range(50)
        for trial in exchange_rules["metropolis"](make_pools(cold, hot), replace(event, iteration=k)).trials
    ]
    assert {(trial.cold_call, trial.hot_call) for trial in trials} == {(c, h) for c in cold for h in hot}
    assert all(trial.blocked for trial in trials)


@given(worlds(SWAP_RULES), st.floats(-3, 3), st.sampled_from([0.0, 1.0, 90.0]))
def test_draws_do_not_depend_on_outcomes(world: tuple[Pools, Event], energy: float, xi: float) -> None:
    pools, event = world
    pools = (pools * 2)[:2]
    event = replace(event, method=make_method(size=event.method.swap.size))
    other = replace(event, energies=np.full(N_CALLS, energy), xi=xi)
    drawn = [
        [(trial.cold_call, trial.hot_call, trial.log_u) for trial in exchange(pools, one).trials]
        for one in (event, other)
    ]
    assert drawn[0] == drawn[1]


def test_a_blocked_pair_also_consumes_its_random_number() -> None:
    event = make_event(make_method(size=3), [0.0] * 6)
    log_us = [
        [trial.log_u for trial in exchange_rules["metropolis"](make_pools([1, 2, 3], hot), event).trials]
        for hot in ([4, 5, 6], [1, 2, 3], [1, 4, 5])
    ]
    assert log_us[0] == log_us[1] == log_us[2]
    assert len(set(log_us[0])) == 3


def test_each_rung_has_its_own_stream() -> None:
    event = make_event(make_method(ladder=(0.8, 0.4, 0.2), size=1), [0.0] * 3)
    first, second = exchange_rules["metropolis"](make_pools([1], [2], [3]), event).trials
    assert first.log_u != second.log_u


def test_the_swap_rate_is_the_accepted_share_of_unblocked_pairs_of_the_whole_ladder() -> None:
    (trial,) = exchange_rules["random"](make_pools([1], [2]), make_event(make_method(), [0.0, 1.0])).trials
    yes, no = replace(trial, accepted=True, blocked=False), replace(trial, accepted=False, blocked=False)
    blocked = replace(trial, accepted=False, blocked=True)
    assert swap_rate([yes, no, blocked, no, blocked, replace(yes, cold_pool=1, hot_pool=2)]) == 0.5


@pytest.mark.parametrize(
    ("h_cold", "h_hot", "expected"),
    [(1.0, 3.0, -2.5 * 0.6 * 2), (3.0, 1.0, 2.5 * 0.6 * 2), (2.0, 2.0, 0.0)],
)
def test_the_colder_pool_always_takes_the_better_candidate(h_cold: float, h_hot: float, expected: float) -> None:
    assert log_acceptance(h_cold, h_hot, 0.8 - 0.2, 2.5) == pytest.approx(expected)


@pytest.mark.parametrize("gap", [1.7e308, -1.7e308])
def test_extreme_energies_are_decided_without_a_warning(gap: float) -> None:
    assert log_acceptance(np.float64(-gap), np.float64(gap), 0.6, 1e3) == -np.sign(gap) * np.inf


@pytest.mark.parametrize(("gap", "xi"), [(0.6, 0.0), (0.0, 2.5), (np.inf, 0.0), (0.6, 2.5)])
def test_a_pair_without_a_difference_is_always_accepted(gap: float, xi: float) -> None:
    h_hot = np.float64(-4.0) if gap == 0.6 and xi > 0 else np.float64(1.5e308)
    assert log_acceptance(np.float64(-4.0), h_hot, gap, xi) == 0.0


def test_an_infinitely_cold_rung_accepts_only_candidates_that_are_not_worse() -> None:
    energies = [(np.float64(1.0), np.float64(h_hot)) for h_hot in (0.5, 1.0, 1.5)]
    assert [log_acceptance(cold, hot, np.inf, 2.5) for cold, hot in energies] == [np.inf, 0.0, -np.inf]


dyadic = st.lists(st.integers(-64, 64).map(lambda n: n / 16), min_size=N_CALLS, max_size=N_CALLS)


def decisions(pools: Pools, event: Event) -> list[tuple[int, int, bool, bool]]:
    trials = exchange(pools, event).trials
    return [(trial.cold_call, trial.hot_call, trial.accepted, trial.blocked) for trial in trials]


@given(worlds(["metropolis"]), dyadic, st.integers(-(2**20), 2**20))
def test_adding_a_constant_to_all_energies_changes_no_decision(
    world: tuple[Pools, Event], energies: list[float], constant: int
) -> None:
    pools, event = world[0], replace(world[1], energies=np.array(energies))
    assert decisions(pools, event) == decisions(pools, replace(event, energies=event.energies + constant))


@given(worlds(["metropolis"]), dyadic, st.sampled_from([2.0**-7, 0.5, 4.0, 1024.0]))
def test_rescaling_energies_and_betas_or_xi_together_changes_no_decision(
    world: tuple[Pools, Event], energies: list[float], scale: float
) -> None:
    pools, event = world[0], replace(world[1], energies=np.array(energies))
    rescaled = replace(event, energies=event.energies * scale)
    cooler = replace(event.method, ladder=tuple(beta / scale for beta in event.method.ladder))
    assert decisions(pools, event) == decisions(pools, replace(rescaled, xi=event.xi / scale))
    assert decisions(pools, event) == decisions(pools, replace(rescaled, method=cooler))


@given(worlds(["none"]))
def test_no_exchange_leaves_the_pools_isolated(world: tuple[Pools, Event]) -> None:
    exchanged = exchange(*world)
    assert as_lists(exchanged.pools) == as_lists(world[0])
    assert (exchanged.trials, exchanged.migrations, exchanged.adapts) == ((), (), False)


@given(worlds(["ring"]))
def test_the_ring_loses_and_invents_no_candidate_and_logs_each_copy(world: tuple[Pools, Event]) -> None:
    before, exchanged = as_lists(world[0]), exchange(*world)
    copied = [sorted(m.call for m in exchanged.migrations if m.to_pool == pool) for pool in range(len(before))]
    assert as_lists(exchanged.pools) == [sorted(old + new) for old, new in zip(before, copied, strict=True)]
    assert all(migration.call in before[migration.from_pool] for migration in exchanged.migrations)


@given(worlds(["ring"]))
def test_the_ring_copies_the_best_candidates_that_the_next_pool_lacked_before_the_event(
    world: tuple[Pools, Event],
) -> None:
    pools, event = world
    before, migrations = as_lists(pools), exchange(pools, event).migrations
    for source, calls in enumerate(before):
        target = (source + 1) % len(before)
        lacking = sorted(set(calls) - set(before[target]), key=lambda call: (-event.scores[call - 1], call))
        copied = [m.call for m in migrations if m.from_pool == source]
        assert copied == lacking[: event.method.swap.size]
        assert all(m.to_pool == target for m in migrations if m.from_pool == source)


def met(schedule: str, iteration: int, n_pools: int, seed: int = 0) -> list[int]:
    method = make_method(ladder=tuple(np.linspace(1, 0.1, n_pools)), schedule=schedule)
    return list(schedules[schedule](Event(iteration, method, np.empty(0), np.empty(0), 1.0, Streams(seed))))


def test_the_schedule_all_pairs_adjacent_rungs_from_cold_to_hot() -> None:
    assert [met("all", 5, n_pools) for n_pools in (1, 2, 4)] == [[], [0], [0, 1, 2]]


def test_even_and_odd_pairs_alternate_event_by_event_even_first() -> None:
    assert [met("even_odd_alternating", 5 * k, 5) for k in (1, 2, 3, 4)] == [[0, 2], [1, 3], [0, 2], [1, 3]]


def test_a_fair_coin_chooses_even_or_odd_pairs_for_each_event() -> None:
    chosen = [tuple(met("even_odd_random", 5 * k, 5)) for k in range(1000)]
    assert set(chosen) == {(0, 2), (1, 3)}
    assert abs(chosen.count((0, 2)) - 500) < 4.5 * np.sqrt(250)
    assert sum(one != other for one, other in pairwise(chosen)) > 400


def test_a_candidate_may_travel_two_rungs_in_one_event() -> None:
    event = make_event(make_method(ladder=(1.0, 0.5, 0.1), size=1), [0.0, 1.0, 2.0])
    assert as_lists(exchange_rules["random"](make_pools([1], [2], [3]), event).pools) == [[2], [3], [1]]


def test_an_infinitely_cold_pool_accepts_exactly_the_swaps_that_do_not_raise_its_energy() -> None:
    rng = np.random.default_rng(3)
    energies = rng.integers(0, 4, size=40).astype(float).tolist()
    pools = make_pools(range(1, 21), range(21, 41))
    event = make_event(make_method(ladder=(np.inf, 5.0), size=20), energies)
    trials = exchange_rules["metropolis"](pools, event).trials
    assert {trial.accepted for trial in trials} == {True, False}
    for trial in trials:
        assert trial.accepted == (energies[trial.hot_call - 1] <= energies[trial.cold_call - 1])
