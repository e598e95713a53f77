"""The exchange of candidates between the pools of the ladder (paper, Algorithm "Swap operator").

Pools are sorted arrays of calls. A key is evaluated once a run, so two candidates with one key are one call.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evodiverse.search.rules import Rules
from evodiverse.search.sampling import FloatArray, IntArray
from evodiverse.search.settings import Method
from evodiverse.search.streams import Purpose, Streams

Pools = tuple[IntArray, ...]


def empty_pools(n_pools: int) -> Pools:
    """Return pools without members."""
    return tuple(np.empty(0, dtype=np.int64) for _ in range(n_pools))


@dataclass(frozen=True, slots=True)
class SwapTrial:
    """One pair of a swap event, as it was settled (a row of ``swaps``)."""

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
    """One candidate copied to another pool (a row of ``migrations``)."""

    from_pool: int
    to_pool: int
    call: int


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The pools after an exchange event, and everything that was tried.

    ``pairs`` are the adjacent rungs that met; ``adapts`` says whether the event's rate may move ξ.
    """

    pools: Pools
    pairs: tuple[tuple[int, int], ...] = ()
    trials: tuple[SwapTrial, ...] = ()
    migrations: tuple[Migration, ...] = ()
    adapts: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """What an exchange rule may know. ``scores`` and ``energies`` are ``(n_calls,)``, call ``c`` at ``c - 1``."""

    iteration: int
    method: Method
    scores: FloatArray
    energies: FloatArray
    xi: float
    streams: Streams


ExchangeRule = Callable[[Pools, Event], Exchanged]
exchange_rules: Rules[ExchangeRule] = Rules("exchange rule")
Schedule = Callable[[Event], range]
schedules: Rules[Schedule] = Rules("schedule")


@exchange_rules
def none(pools: Pools, event: Event) -> Exchanged:  # noqa: ARG001
    """Leave the pools isolated."""
    return Exchanged(pools)


@exchange_rules
def metropolis(pools: Pools, event: Event) -> Exchanged:
    """Swap candidates between adjacent rungs by the Metropolis rule at powering factor ξ.

    It keeps the joint law of the pools if they follow their Boltzmann laws; an evolving population does so only
    approximately, the more so as the weights of its survivors may be of another form: of molecules swaps follow
    log(1 - s), survivors s^β. Beside a rung at β = ∞ exactly those swaps are accepted that do not raise its energy.
    """
    cold_rungs = schedules[event.method.swap.schedule](event)
    members = [set(pool.tolist()) for pool in pools]
    trials: list[SwapTrial] = []
    for cold in cold_rungs:
        rng = event.streams.at(Purpose.EXCHANGE, event.iteration, pool=cold).rng()
        trials += swap_rungs(members, cold, event, rng)
    exchanged = tuple(np.array(sorted(calls), dtype=np.int64) for calls in members)
    pairs = tuple((rung, rung + 1) for rung in cold_rungs)
    return Exchanged(exchanged, pairs, tuple(trials), adapts=True)


@exchange_rules
def random(pools: Pools, event: Event) -> Exchanged:
    """Swap like ``metropolis`` with ξ = 0: every unblocked pair is accepted."""
    return replace(metropolis(pools, replace(event, xi=0.0)), adapts=False)


@exchange_rules
def ring(pools: Pools, event: Event) -> Exchanged:
    """Copy to each pool the best ``swap.size`` of its predecessor that it lacks, from the state before the event.

    Nothing leaves a pool, so a pool may exceed its capacity until its next survivors are chosen.
    """
    migrations: list[Migration] = []
    for source in range(len(pools)):
        target = (source + 1) % len(pools)
        lacking = np.setdiff1d(pools[source], pools[target])
        best = lacking[np.argsort(-event.scores[lacking - 1], kind="stable")][: event.method.swap.size]
        migrations += [Migration(source, target, call) for call in best.tolist()]
    grown = list(pools)
    for migration in migrations:
        grown[migration.to_pool] = np.union1d(grown[migration.to_pool], [migration.call])
    return Exchanged(tuple(grown), migrations=tuple(migrations))


def swap_rungs(members: list[set[int]], cold: int, event: Event, rng: np.random.Generator) -> list[SwapTrial]:
    """Try ``swap.size`` swaps between the rungs ``cold`` and ``cold + 1`` and carry out those accepted.

    Candidates are drawn uniformly without replacement from both pools and paired in the order drawn; each pair is
    settled after the effect of the one before. A pair is blocked when both sides are one candidate or either is
    already in the other pool.

    Args:
        members: The calls in each pool; changed in place.
        cold: The colder rung.
        event: Its swap size is capped at the smaller pool; its ξ is at least 0, and 0 accepts every unblocked pair.
        rng: Consumed once per pair, blocked or not.

    Returns:
        All pairs in the order settled.
    """
    hot = cold + 1
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

    It is positive when the hotter pool holds the better (lower) energy: the colder pool always takes that one. A factor
    of 0 makes it 0, even beside an infinite one.
    """
    energy_gap = float(hot_energy) - float(cold_energy)  # plain floats overflow to infinity without a warning
    return -xi * beta_gap * energy_gap if xi and beta_gap and energy_gap else 0.0


def swap_rate(trials: Sequence[SwapTrial]) -> float | None:
    """Return accepted over unblocked pairs, None when all were blocked."""
    tried = sum(not trial.blocked for trial in trials)
    return sum(trial.accepted for trial in trials) / tried if tried else None


@schedules
def all_(event: Event) -> range:
    """Every adjacent pair, cold to hot."""
    return range(event.method.n_pools - 1)


@schedules
def even_odd_random(event: Event) -> range:
    """The even or the odd pairs, by a fair coin (reversible)."""
    parity = int(event.streams.at(Purpose.SCHEDULE, event.iteration).rng().integers(2))
    return range(parity, event.method.n_pools - 1, 2)


@schedules
def even_odd_alternating(event: Event) -> range:
    """The even and the odd pairs in turn, even first: non-reversible parallel tempering (Syed et al., 2022)."""
    parity = (event.iteration // event.method.swap.period - 1) % 2
    return range(parity, event.method.n_pools - 1, 2)
