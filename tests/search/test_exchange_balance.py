"""The exchange keeps the Boltzmann law of independent pools: exactly in the algorithm, and sampled in the code.

The state space is small enough to write down the whole kernel. The claim has two parts: the exact kernel leaves the law
invariant, and the code draws from the rows of this kernel. Both are shown to fail if the energies have the wrong sign.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import combinations, permutations, product
from math import exp

import numpy as np
import pytest
from scipy import stats

from evodiverse.search.exchange import Event, exchange_rules, log_acceptance
from evodiverse.search.settings import Method
from tests.search.builders import as_lists, make_event, make_method, make_pools

State = tuple[frozenset[int], ...]
Acceptance = Callable[[float, float, float, float], float]

ENERGIES = [0.9, -0.35, 0.1, 1.6, -0.7]
XI = 1.7


def all_states(sizes: Sequence[int], n_calls: int) -> list[State]:
    """Return all ways to fill pools of these sizes; pools may share candidates."""
    fillings = [[frozenset(c) for c in combinations(range(1, n_calls + 1), size)] for size in sizes]
    return list(product(*fillings))


def boltzmann_law(states: Iterable[State], ladder: Sequence[float]) -> np.ndarray:
    """Return the joint law exp(-ξ Σ β h) of independent pools."""
    actions = [sum(b * ENERGIES[call - 1] for b, pool in zip(ladder, s, strict=True) for call in pool) for s in states]
    weights = np.exp(-XI * np.array(actions))
    return weights / weights.sum()


def swap_kernel(states: list[State], ladder: Sequence[float], cold: int, k: int, acceptance: Acceptance) -> np.ndarray:
    """Return the exact transition matrix of one swap event between two rungs, over all draws and decisions."""
    index = {state: number for number, state in enumerate(states)}
    kernel = np.zeros((len(states), len(states)))
    gap = ladder[cold] - ladder[cold + 1]
    for state in states:
        drawn = list(product(permutations(sorted(state[cold]), k), permutations(sorted(state[cold + 1]), k)))
        for cold_calls, hot_calls in drawn:
            branches = {state: 1 / len(drawn)}
            for pair in zip(cold_calls, hot_calls, strict=True):
                branches = settle(branches, cold, pair, gap, acceptance)
            for after, probability in branches.items():
                kernel[index[state], index[after]] += probability
    return kernel


def settle(
    branches: dict[State, float], cold: int, pair: tuple[int, int], gap: float, acceptance: Acceptance
) -> dict[State, float]:
    """Split each branch into one in which the pair is swapped and one in which it is not, as for a blocked pair."""
    settled: dict[State, float] = {}
    x_1, x_2 = pair
    for state, probability in branches.items():
        blocked = x_2 in state[cold] or x_1 in state[cold + 1]
        log_a = acceptance(ENERGIES[x_1 - 1], ENERGIES[x_2 - 1], gap, XI)
        accept = 0.0 if blocked else min(1.0, exp(log_a))
        pools = list(state)
        pools[cold], pools[cold + 1] = state[cold] ^ set(pair), state[cold + 1] ^ set(pair)
        for after, share in ((tuple(pools), accept), (state, 1 - accept)):
            if share:
                settled[after] = settled.get(after, 0.0) + probability * share
    return settled


def wrong_sign(cold_energy: float, hot_energy: float, gap: float, xi: float) -> float:
    return -log_acceptance(cold_energy, hot_energy, gap, xi)


CASES = [  # pool sizes, number of candidates, ladder, swap size
    pytest.param((1, 1), 4, (0.8, 0.2), 1, id="one-candidate"),
    pytest.param((2, 2), 5, (0.8, 0.2), 2, id="two-of-two"),
    pytest.param((3, 2), 5, (0.9, 0.3), 2, id="unequal-pools"),
    pytest.param((3, 3), 5, (0.9, 0.3), 2, id="two-of-three"),
]


@pytest.mark.parametrize(("sizes", "n_calls", "ladder", "k"), CASES)
def test_the_swap_satisfies_detailed_balance_with_the_joint_boltzmann_law(sizes, n_calls, ladder, k) -> None:
    states = all_states(sizes, n_calls)
    flow = boltzmann_law(states, ladder)[:, None] * swap_kernel(states, ladder, 0, k, log_acceptance)
    assert flow.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.abs(flow - flow.T).max() < 1e-14
    assert np.abs(flow.sum(axis=0) - flow.sum(axis=1)).max() < 1e-14


@pytest.mark.parametrize(("sizes", "n_calls", "ladder", "k"), CASES)
def test_a_wrong_sign_breaks_the_joint_boltzmann_law(sizes, n_calls, ladder, k) -> None:
    states = all_states(sizes, n_calls)
    law = boltzmann_law(states, ladder)
    assert np.abs(law @ swap_kernel(states, ladder, 0, k, wrong_sign) - law).max() > 0.005


@pytest.mark.parametrize(("sizes", "n_calls"), [((1, 1, 1), 4), ((2, 1, 2), 4)])
def test_a_ladder_of_three_keeps_its_law_when_all_pairs_swap_in_turn(sizes: tuple[int, ...], n_calls: int) -> None:
    ladder = (1.1, 0.5, 0.2)
    states = all_states(sizes, n_calls)
    law = boltzmann_law(states, ladder)
    kernels = [swap_kernel(states, ladder, cold, 1, log_acceptance) for cold in (0, 1)]
    assert np.abs(reduce(np.matmul, kernels, law) - law).max() < 1e-14
    wrong = [swap_kernel(states, ladder, cold, 1, wrong_sign) for cold in (0, 1)]
    assert np.abs(reduce(np.matmul, wrong, law) - law).max() > 0.005


def visits(states: list[State], starts: Iterable[int], event: Event) -> np.ndarray:
    """Return how often the real exchange ends in each state; each start has its own event, and thus its own stream."""
    index = {state: number for number, state in enumerate(states)}
    counts = np.zeros(len(states))
    for iteration, start in enumerate(starts):
        exchanged = exchange_rules["metropolis"](make_pools(*states[start]), replace(event, iteration=iteration))
        counts[index[tuple(frozenset(pool) for pool in as_lists(exchanged.pools))]] += 1
    return counts


def p_value(counts: np.ndarray, law: np.ndarray) -> float:
    """Return the p-value of a chi-square test against a law; states expected less than five times are merged."""
    expected = counts.sum() * law
    rare = expected < 5
    assert not counts[expected == 0].any()
    observed = np.append(counts[~rare], counts[rare].sum())
    exact = np.append(expected[~rare], expected[rare].sum())
    kept = exact > 0
    return float(stats.chisquare(observed[kept], exact[kept]).pvalue)


def boltzmann_visits(
    method: Method, sizes: tuple[int, ...], n_calls: int, sign: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the visits after one exchange that starts from exact Boltzmann draws, and the law of these draws."""
    states = all_states(sizes, n_calls)
    law = boltzmann_law(states, method.ladder)
    starts = np.random.default_rng(11).choice(len(states), size=8000, p=law)
    event = make_event(method, [sign * energy for energy in ENERGIES], xi=XI, seed=12)
    return visits(states, starts.tolist(), event), law


SAMPLED = [  # method, pool sizes, number of candidates
    pytest.param(make_method(size=1), (1, 1), 4, id="two-rungs"),
    pytest.param(make_method(ladder=(1.1, 0.5, 0.2), schedule="all"), (1, 1, 1), 4, id="all"),
    pytest.param(make_method(ladder=(1.1, 0.5, 0.2), schedule="even_odd_random"), (1, 1, 1), 4, id="even-odd-random"),
    pytest.param(
        make_method(ladder=(1.1, 0.5, 0.2), schedule="even_odd_alternating", period=1), (1, 1, 1), 4, id="alternating"
    ),
    pytest.param(make_method(ladder=(0.9, 0.3), size=2), (3, 2), 5, id="two-of-several"),
]


@pytest.mark.parametrize(("method", "sizes", "n_calls"), SAMPLED)
def test_pools_drawn_from_their_boltzmann_laws_follow_them_after_an_exchange(method, sizes, n_calls) -> None:
    assert p_value(*boltzmann_visits(method, sizes, n_calls, sign=1.0)) > 1e-3


@pytest.mark.parametrize(("method", "sizes", "n_calls"), SAMPLED)
def test_pools_do_not_keep_their_boltzmann_laws_if_the_energies_have_the_wrong_sign(method, sizes, n_calls) -> None:
    assert p_value(*boltzmann_visits(method, sizes, n_calls, sign=-1.0)) < 1e-9


@pytest.mark.parametrize(
    "start",
    [({1, 2, 5}, {3, 4}), ({1, 2, 3}, {3, 4}), ({2, 3, 5}, {2, 4})],
    ids=["disjoint", "shared", "shared-second"],
)
def test_the_exchange_draws_from_the_exact_kernel(start: tuple[set[int], set[int]]) -> None:
    method = make_method(ladder=(0.9, 0.3), size=2)
    states = all_states((3, 2), 5)
    number = states.index(tuple(frozenset(pool) for pool in start))
    counts = visits(states, [number] * 6000, make_event(method, ENERGIES, xi=XI, seed=13))
    assert p_value(counts, swap_kernel(states, method.ladder, 0, 2, log_acceptance)[number]) > 1e-3
