"""The end of an iteration: choose survivors, exchange candidates between pools, adapt, and update counters."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evodiverse.search.adaptation import Thermostat, adapt_xi
from evodiverse.search.archive import Archive
from evodiverse.search.attempts import Attempts
from evodiverse.search.exchange import Event, Exchanged, exchange_rules, swap_rate
from evodiverse.search.features import Features, place
from evodiverse.search.niches import Similarities
from evodiverse.search.pareto import Objective
from evodiverse.search.repair import choose_repairs
from evodiverse.search.sampling import IntArray
from evodiverse.search.settings import Method, Search
from evodiverse.search.state import Adaptation, IterationInfo, Progress, State
from evodiverse.search.stopping import count_progress
from evodiverse.search.streams import Purpose, Streams
from evodiverse.search.survivors import Contenders, survivor_rules


def start(attempts: Attempts, archive: Archive, method: Method) -> tuple[State, IterationInfo]:
    """Return the state at iteration 0, in which the pools hold the initial candidates, and the record of iteration 0.

    If the attempts are for a single pool but the method has several, every pool starts with the candidates of that
    single pool, and the records of the attempts name no pool.
    """
    settled = [attempts.initial(pool) for pool in range(attempts.n_pools)]
    records = attempts.records
    if attempts.n_pools < method.n_pools:
        settled *= method.n_pools
        records = [replace(record, pool=None) for record in records]
    pools = tuple(settled)
    state = State(0, pools, Thermostat(method.swap.xi), Progress(top_mean=archive.top_mean()))
    return state, IterationInfo(0, pools, tuple(records))


def advance(
    state: State,
    attempts: Attempts,
    archive: Archive,
    method: Method,
    search: Search,
    streams: Streams,
    similarities: Similarities | None = None,
) -> tuple[State, IterationInfo]:
    """Select the survivors of each pool, exchange candidates between pools when an exchange is due, and adapt ξ.

    ξ is the power to which the Metropolis acceptance ratio of a swap between pools is raised.

    Args:
        state: The state before the iteration.
        attempts: All attempts of the iteration, after the last call of `Attempts.close`.
        archive: The archive that holds every candidate of ``state`` and ``attempts``.
        method: The settings of the method.
        search: The settings of the stop rules, whose counters are part of the state.
        streams: The random streams of the run.
        similarities: The task's similarities; None for a task without them.

    Returns:
        The state after the iteration, and the record of everything that happened in it.
    """
    iteration = state.iteration + 1
    context = (archive, method, streams, similarities, search.features, search.objectives)
    pools = tuple(
        select_survivors(iteration, pool, members, attempts.offspring(pool), *context)
        for pool, members in enumerate(state.pools)
    )
    exchanged, thermostat = Exchanged(pools), state.thermostat
    adaptations: tuple[Adaptation, ...] = ()
    if iteration % method.swap.period == 0:
        event = Event(iteration, method, archive.scores, archive.energies, thermostat.xi, streams)
        exchanged = exchange_rules[method.swap.rule](pools, event)
        thermostat, adaptations = adapt(thermostat, exchanged, method)
    charged = any(record.call is not None for record in attempts.records)
    top_mean = archive.top_mean()
    progress = count_progress(state.progress, top_mean, attempts.n_slots, method.period, search, charged=charged)
    records, screened = tuple(attempts.records), tuple(attempts.screened)
    pools, trials, migrations = exchanged.pools, exchanged.trials, exchanged.migrations
    info = IterationInfo(iteration, pools, records, trials, migrations, adaptations, screened)
    tried = [(record.pool, record.call, record.parents) for record in records if record.call is not None]
    repairs = choose_repairs(tried, archive, method) if search.repair else ()
    return State(iteration, pools, thermostat, progress, repairs), info


def select_survivors(
    iteration: int,
    pool: int,
    members: IntArray,
    offspring: IntArray,
    archive: Archive,
    method: Method,
    streams: Streams,
    similarities: Similarities | None = None,
    features: Features | None = None,
    objectives: Sequence[Objective] = (),
) -> IntArray:
    """Return the members and offspring of a pool that survive.

    Args:
        iteration: The number of the iteration.
        pool: The index of the pool.
        members: ``(m,)`` members, each given as the number of the oracle call that evaluated it.
        offspring: ``(k,)`` offspring, given in the same way; some of them may already be members.
        archive: The archive that holds all of them.
        method: The settings of the method.
        streams: The random streams of the run.
        similarities: The task's similarities; None for a task without them.
        features: The features that span the space in which candidates compete; None without such a space.
        objectives: The objectives of a search for several at once.

    Returns:
        The ``(n,)`` survivors, given in the same way and sorted.
    """
    contenders = np.union1d(members, offspring)
    rng = streams.at(Purpose.SURVIVORS, iteration, pool=pool).rng()
    calls = contenders.tolist()
    together = Contenders(
        archive.scores[contenders - 1],
        pool,
        ~np.isin(contenders, members),
        [archive.hypothesis(call) for call in calls],
        similarities,
        None if features is None else lambda: place([archive.evaluation(call).details for call in calls], features),
        (lambda: archive.values(calls, objectives)) if objectives else None,
    )
    return np.sort(contenders[survivor_rules[method.survivors.rule](together, method, rng)])


def adapt(thermostat: Thermostat, exchanged: Exchanged, method: Method) -> tuple[Thermostat, tuple[Adaptation, ...]]:
    """Adapt ξ to the swap rate of an exchange between pools, if the exchange rule allows this.

    ξ is the power to which the Metropolis acceptance ratio of a swap is raised. The thermostat holds ξ and the swap
    rates since ξ was last adapted. The thermostat after the exchange is returned, with one record for each pair of
    pools that took part. If the rule does not allow ξ to change, the thermostat is unchanged and there are no records.
    """
    if not exchanged.adapts:
        return thermostat, ()
    rate = swap_rate(exchanged.trials)
    adapted, clamped = adapt_xi(thermostat, rate, method.swap)
    rows = []
    for cold, hot in exchanged.pairs:
        trials = [trial for trial in exchanged.trials if trial.cold_pool == cold]
        accepted = sum(trial.accepted for trial in trials)
        tried = sum(not trial.blocked for trial in trials)
        rows.append(Adaptation(cold, hot, rate, adapted.xi, accepted, tried, clamped))
    return adapted, tuple(rows)
