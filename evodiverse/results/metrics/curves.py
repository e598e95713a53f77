"""The curves of a run, which figures draw; they are cached together with the other metrics."""

from collections import defaultdict
from itertools import accumulate

from evodiverse.runlog.log import Log, calls_by_iteration
from evodiverse.runlog.values import Measurement, Value, find_rises


def measure_curves(log: Log) -> Measurement:
    """Return the curves of a search in any domain, by name.

    ``curve.calls`` holds the number of oracle calls up to the end of each iteration, starting with iteration 0. A
    domain may add curves that have one value per iteration; ``curve.calls`` holds the x-values of these curves.
    ``curve.best_calls`` holds the numbers of the calls whose score was higher than all earlier scores, and
    ``curve.best`` holds the scores of these calls. `measure_exchanges` adds the other curves.
    """
    calls, best = find_rises(log.counted_scores)
    return {
        "curve.calls": [*accumulate(calls_by_iteration(log))],
        "curve.best_calls": calls,
        "curve.best": best,
        **measure_exchanges(log),
    }


def measure_exchanges(log: Log) -> Measurement:
    """Return the curves of the exchanges by name; an empty dict for a run without swaps.

    ``curve.exchanges`` holds the iterations with an exchange. The pools are ordered from cold to hot, and each pair of
    adjacent pools has two curves with one value per exchange; ``<pool>`` in their names is the colder of the two pools.
    ``curve.swap_acceptance.<pool>`` holds the share of swaps that were accepted, or None without swaps; blocked swaps,
    which would put a candidate into a pool twice, do not count. ``curve.xi.<pool>`` holds ξ, the power to which the
    Metropolis acceptance ratio of a swap is raised, or None if the exchange paired no candidates of these two pools.
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
    curves: dict[str, Value] = {"curve.exchanges": [*map(float, exchanges)]}
    for pool in sorted({pool for pool, _ in factors}):
        shares = [tried.get((pool, iteration), []) for iteration in exchanges]
        curves[f"curve.swap_acceptance.{pool}"] = [sum(each) / len(each) if each else None for each in shares]
        curves[f"curve.xi.{pool}"] = [factors.get((pool, iteration)) for iteration in exchanges]
    return curves
