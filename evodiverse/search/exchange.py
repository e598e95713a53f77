"""The exchange of candidates between the pools of a run (paper, Algorithm "Swap operator").

The pools are ordered from cold to hot. Each has an inverse temperature, and the list of these is called the ladder.

A pool is a sorted array of call numbers, each the number of the oracle call that evaluated a candidate. The key of a
candidate is its canonical identity. Each key is evaluated only once per run, so candidates with equal keys have the
same call number.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.search.streams import Purpose, Streams

if TYPE_CHECKING:
    from evodiverse.search.settings import Method

Pools = tuple[IntArray, ...]


def empty_pools(n_pools: int) -> Pools:
    """Return pools without members."""
    return tuple(np.empty(0, dtype=np.int64) for _ in range(n_pools))


@dataclass(frozen=True, slots=True)
class SwapTrial:
    """One pair of candidates in an exchange, and the decision about it (a row of the dataset ``swaps``).

    Attributes:
        cold_pool: The index of the colder pool.
        hot_pool: The index of the hotter pool.
        cold_call: The call number of the candidate that the colder pool offered.
        hot_call: The call number of the candidate that the hotter pool offered.
        log_accept: The logarithm of the Metropolis ratio, in nats.
        log_u: The logarithm of the uniform random number that it was compared with, in nats.
        accepted: Whether the candidates were swapped.
        blocked: Whether the pair could not be swapped, because a pool would have held a candidate twice.
        xi: The powering factor ξ of the decision, which multiplied the exponent of the Metropolis ratio.
    """

    cold_pool: int
    hot_pool: int
    cold_call: int
    hot_call: int
    log_accept: float
    log_u: float
    accepted: bool
    blocked: bool
    xi: float


@dataclass(frozen=True, slots=True)
class Migration:
    """A candidate that was copied to another pool (a row of the dataset ``migrations``)."""

    from_pool: int
    to_pool: int
    call: int


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The result of an exchange.

    Attributes:
        pools: The pools after the exchange.
        pairs: The indices (colder, hotter) of the adjacent pools that took part.
        trials: All pairs of candidates that were tried, in order.
        migrations: All candidates that were copied, in order.
        adapts: Whether the swap rate of the exchange may change the powering factor ξ, which multiplies the exponent of
            the swap probability.
    """

    pools: Pools
    pairs: tuple[tuple[int, int], ...] = ()
    trials: tuple[SwapTrial, ...] = ()
    migrations: tuple[Migration, ...] = ()
    adapts: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What exchange rules and schedules may use to decide on one exchange of candidates between the pools.

    Attributes:
        iteration: The number of the iteration.
        method: The settings of the method.
        scores: ``(n_calls,)`` scores of all calls, higher is better; call ``c`` is at index ``c - 1``.
        energies: ``(n_calls,)`` energies of all calls, lower is better, in the same order.
        xi: The powering factor ξ, which multiplies the exponent of the swap probability.
        streams: The random streams of the run.
    """

    iteration: int
    method: "Method"
    scores: FloatArray
    energies: FloatArray
    xi: float
    streams: Streams


exchange_rules: Rules[Callable[[Pools, Event], Exchanged]] = Rules()
"""Functions that `advance` calls with the pools when an exchange is due; they return the pools after the exchange."""
schedules: Rules[Callable[[Event], range]] = Rules()
"""Functions that tell `metropolis` which adjacent pools exchange: they return the index of each pair's colder pool."""


@exchange_rules
def none(pools: Pools, event: Event) -> Exchanged:  # noqa: ARG001
    """Leave the pools isolated."""
    return Exchanged(pools)


@exchange_rules
def metropolis(pools: Pools, event: Event) -> Exchanged:
    """Swap candidates between adjacent pools by the Metropolis rule.

    The powering factor ξ multiplies the exponent of the swap probability.

    Swaps preserve the joint distribution of the pools if each pool follows its Boltzmann distribution. An evolving
    population follows it only approximately, especially if survivors are weighted by a function other than the energy:
    for a molecule with the score s, swaps use log(1 - s), but its weight as a survivor is s^β.

    A pair of candidates is never swapped if a pool would then hold a candidate twice. If ξ > 0, any other pair is
    swapped between a pool at β = ∞ and its neighbor exactly when the candidate that enters the pool at β = ∞ has no
    higher energy than the one that leaves.
    """
    cold_rungs = schedules[event.method.swap.schedule](event)
    members = [set(pool.tolist()) for pool in pools]
    trials = [trial for cold in cold_rungs for trial in swap_rungs(members, cold, event)]
    exchanged = tuple(np.array(sorted(calls), dtype=np.int64) for calls in members)
    pairs = tuple((rung, rung + 1) for rung in cold_rungs)
    return Exchanged(exchanged, pairs, tuple(trials), adapts=True)


@exchange_rules
def random(pools: Pools, event: Event) -> Exchanged:
    """Swap candidates between adjacent pools whatever their energies.

    This is ``metropolis`` with the powering factor ξ = 0: each pair of candidates is swapped, unless the swap would put
    a candidate into a pool twice.
    """
    return replace(metropolis(pools, replace(event, xi=0.0)), adapts=False)


@exchange_rules
def ring(pools: Pools, event: Event) -> Exchanged:
    """Copy the best ``swap.size`` candidates of each pool to the next pool, and those of the last pool to the first.

    Candidates that the receiving pool already has are passed over. All copies are taken from the pools as they were
    before the exchange. No pool loses anything, so a pool may exceed its capacity until its survivors are selected.
    """
    grown, migrations = list(pools), list[Migration]()
    for source, pool in enumerate(pools):
        target = (source + 1) % len(pools)
        lacking = np.setdiff1d(pool, pools[target])
        best = lacking[np.argsort(-event.scores[lacking - 1], kind="stable")][: event.method.swap.size]
        migrations += [Migration(source, target, call) for call in best.tolist()]
        grown[target] = np.union1d(pools[target], best)
    return Exchanged(tuple(grown), migrations=tuple(migrations))


def swap_rungs(members: list[set[int]], cold: int, event: Event) -> list[SwapTrial]:
    """Try ``swap.size`` swaps between the pools ``cold`` and ``cold + 1``, and carry out the accepted ones.

    Candidates are drawn uniformly without replacement from both pools and paired in the order drawn. Each pair is
    decided after the previous one has taken effect. A pair is blocked if both sides are the same candidate, or if one
    of them is already in the other pool. One number is drawn for each pair, blocked or not.

    Args:
        members: The call numbers of the members of each pool. Changed in place.
        cold: The index of the colder pool.
        event: The exchange. Its swap size is capped at the size of the smaller pool. Its ξ, a factor in the exponent of
            the Metropolis ratio, is at least 0. With 0, every pair that is not blocked is accepted.

    Returns:
        All pairs, in the order in which they were decided.
    """
    hot = cold + 1
    rng = event.streams.at(Purpose.EXCHANGE, event.iteration, pool=cold).rng()
    size = min(event.method.swap.size, len(members[cold]), len(members[hot]))
    cold_calls = rng.permutation(sorted(members[cold]))[:size].tolist()
    hot_calls = rng.permutation(sorted(members[hot]))[:size].tolist()
    log_us = np.log1p(-rng.random(size)).tolist()
    beta_gap = event.method.ladder[cold] - event.method.ladder[hot]
    trials = []
    for cold_call, hot_call, log_u in zip(cold_calls, hot_calls, log_us, strict=True):
        cold_energy, hot_energy = event.energies[cold_call - 1], event.energies[hot_call - 1]
        log_accept = log_acceptance(cold_energy, hot_energy, beta_gap, event.xi)
        blocked = hot_call in members[cold] or cold_call in members[hot]
        accepted = not blocked and log_u <= min(0.0, log_accept)
        if accepted:
            members[cold] ^= {cold_call, hot_call}
            members[hot] ^= {cold_call, hot_call}
        trials.append(SwapTrial(cold, hot, cold_call, hot_call, log_accept, log_u, accepted, blocked, event.xi))
    return trials


def log_acceptance(cold_energy: float, hot_energy: float, beta_gap: float, xi: float) -> float:
    """Return ``log a = -ξ (β_cold - β_hot) (h_hot - h_cold)``, in nats.

    Here a is the Metropolis acceptance ratio of a swap of two candidates between pools, raised to the power ξ. β is the
    inverse temperature of a pool, and h is the energy of a candidate. The result is positive if the candidate of the
    hotter pool has the better (lower) energy; the colder pool always accepts such a candidate. If any factor is 0, the
    result is 0, even if another is infinite.
    """
    energy_gap = float(hot_energy) - float(cold_energy)  # plain floats overflow to infinity without a warning
    return -xi * beta_gap * energy_gap if xi and beta_gap and energy_gap else 0.0


def swap_rate(trials: Sequence[SwapTrial]) -> float | None:
    """Return the share of pairs of candidates that were swapped, in [0, 1], among those that could be swapped.

    A pair cannot be swapped if a pool would then hold a candidate twice. The result is None if no pair could be
    swapped.
    """
    tried = sum(not trial.blocked for trial in trials)
    return sum(trial.accepted for trial in trials) / tried if tried else None


@schedules
def all_(event: Event) -> range:
    """Return the index of the colder pool of every adjacent pair, cold to hot."""
    return range(event.method.n_pools - 1)


@schedules
def even_odd_random(event: Event) -> range:
    """Return the even or the odd pairs, chosen at random with equal probability (reversible parallel tempering).

    As in `all_`, a pair is given by the index of its colder pool; it is even if this index is even.
    """
    parity = int(event.streams.at(Purpose.SCHEDULE, event.iteration).rng().integers(2))
    return range(parity, event.method.n_pools - 1, 2)


@schedules
def even_odd_alternating(event: Event) -> range:
    """Return the even pairs at the first exchange, the odd pairs at the next, and so on.

    As in `all_`, a pair is given by the index of its colder pool; it is even if this index is even. This schedule is
    non-reversible parallel tempering (Syed et al., 2022).
    """
    parity = (event.iteration // event.method.swap.period - 1) % 2
    return range(parity, event.method.n_pools - 1, 2)
