"""The curves of a run, which figures draw: numbers of each iteration, kept with the metrics that they belong to."""

from collections import defaultdict
from itertools import accumulate

from evodiverse.runlog.log import Log, calls_by_iteration
from evodiverse.runlog.values import Measurement, Value, find_rises


def measure_curves(log: Log) -> Measurement:
    """Return the curves of a search in any domain.

    ``curve.calls`` has how many oracle calls were charged up to the end of each iteration, the initial one first; the
    curves of domains that have a value an iteration go with it. ``curve.best_calls`` are the calls whose score was
    higher than all before, ``curve.best`` these scores. The rest are those of `measure_exchanges`.
    """
    calls, best = find_rises(sorted(log.scores.items()))
    return {
        "curve.calls": [*accumulate(calls_by_iteration(log))],
        "curve.best_calls": calls,
        "curve.best": best,
        **measure_exchanges(log),
    }


def measure_exchanges(log: Log) -> Measurement:
    """Return what became of the swaps of each exchange; nothing for a run without swaps.

    ``curve.exchanges`` has the iterations with an exchange. For each two neighbors on the ladder, named by the colder
    pool, ``curve.swap_acceptance.<pool>`` has the accepted share of the swaps that were not blocked, and
    ``curve.xi.<pool>`` the powering factor that decided them, None where no pair was offered (or tried).
    """
    names = ("iteration", "cold_pool", "accepted", "blocked", "xi")
    tried: dict[tuple[int, int], list[bool]] = defaultdict(list)
    factors: dict[tuple[int, int], float] = {}
    for iteration, pool, accepted, blocked, xi in zip(*(log.swaps[name] for name in names), strict=True):
        tried[pool, iteration] += [] if blocked else [accepted]
        factors.setdefault((pool, iteration), xi)
    if not factors:
        return {}
    exchanges = sorted({iteration for _, iteration in factors})
    found: dict[str, Value] = {"curve.exchanges": [*map(float, exchanges)]}
    for pool in sorted({pool for pool, _ in factors}):
        shares = [tried.get((pool, iteration), []) for iteration in exchanges]
        found[f"curve.swap_acceptance.{pool}"] = [sum(each) / len(each) if each else None for each in shares]
        found[f"curve.xi.{pool}"] = [factors.get((pool, iteration)) for iteration in exchanges]
    return found
