"""Metrics of the search itself, and the curves of a run, which figures draw.

They tell how many swaps between neighboring pools were accepted, how often swaps took a candidate from the coldest pool
to the hottest and back, how many of the best candidates stem from the hottest pool, and after how many oracle calls the
search reached given scores.
"""

from collections.abc import Sequence
from itertools import accumulate
from operator import itemgetter

from evodiverse.results.grouping import group_by
from evodiverse.runlog.log import Log, Measurement, Value, calls_by_iteration, find_rises, mean, rows

N_TOP = 10


def measure_search(log: Log, targets: Sequence[float]) -> Measurement:
    """Return the metrics of a search in any domain, by name.

    Args:
        log: The log of the run.
        targets: The target scores. For each one, the metric ``calls_to_<score>`` is the number of the first call that
            reached it, or None if no call did.
    """
    return {
        "swap_acceptance": swap_acceptance(log),
        "round_trips": count_round_trips(log),
        "hot_descendants": count_hot_descendants(log),
        **{f"calls_to_{target:g}": first_call_at(log, target) for target in targets},
    }


def swap_acceptance(log: Log) -> Value:
    """Return the share of swaps that were accepted, for each pair of neighboring pools, in order from cold to hot.

    A swap that would put a candidate into a pool twice is blocked, and does not count.

    Returns:
        A list with one share per pair of pools, in [0, 1], or None for a pair without unblocked swaps. For a run
        without swaps, None instead of the list.
    """
    if not log.swaps["iteration"]:
        return None
    tried = group_by((swap for swap in rows(log.swaps) if not swap["blocked"]), itemgetter("cold_pool"))
    pools = range(len(log.run.settings["method.ladder"]) - 1)
    return [mean([swap["accepted"] for swap in tried.get(pool, [])]) for pool in pools]


def count_round_trips(log: Log) -> int | None:
    """Return how often swaps took a candidate from the coldest pool to the hottest and back.

    A round trip starts when a swap takes a candidate out of the coldest pool. A candidate that is in two pools at the
    same time counts as one. The result is None for a run without swaps.
    """
    if not log.swaps["iteration"]:
        return None
    hottest = len(log.run.settings["method.ladder"]) - 1
    trips = 0
    half_way: dict[int, bool] = {}
    for swap in filter(itemgetter("accepted"), rows(log.swaps)):
        down, up = swap["cold_call"], swap["hot_call"]
        if swap["cold_pool"] == 0:
            half_way[down] = False  # the round trip starts
            trips += half_way.get(up, False)
            half_way[up] = False
        if swap["hot_pool"] == hottest and down in half_way:
            half_way[down] = True
    return trips


def count_hot_descendants(log: Log) -> int | None:
    """Return how many of the ten best candidates at the end were proposed in the hottest pool or descend from it.

    The ten best are those of the final pools. A candidate descends from the hottest pool if any of its ancestors was
    proposed there. The result is None if all pools have the same temperature.
    """
    ladder = log.run.settings["method.ladder"]
    if float(ladder[-1]) >= float(ladder[0]):  # run.json has "inf" as text, since JSON has no infinity
        return None
    pools, parents = log.column("pool"), log.column("parents")
    from_hot: dict[int, bool] = {}
    for call in sorted(pools):  # parents have lower numbers
        from_hot[call] = pools[call] == len(ladder) - 1 or any(from_hot[parent] for parent in parents[call] or ())
    return sum(from_hot[call] for call in log.top(log.final_union, N_TOP))


def first_call_at(log: Log, target: float) -> int | None:
    """Return the number of the first charged call that gave a score of at least ``target``; None if there is none."""
    return next((call for call, score in log.counted_scores if score >= target), None)


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
    exchanges = sorted({*log.swaps["iteration"]})
    curves: dict[str, Value] = {"curve.exchanges": [*map(float, exchanges)]} if exchanges else {}
    for pool, some in sorted(group_by(rows(log.swaps), itemgetter("cold_pool")).items()):
        by_iteration = group_by(some, itemgetter("iteration"))
        paired = [by_iteration.get(iteration, []) for iteration in exchanges]
        tried = [[swap["accepted"] for swap in each if not swap["blocked"]] for each in paired]
        curves[f"curve.swap_acceptance.{pool}"] = [*map(mean, tried)]
        curves[f"curve.xi.{pool}"] = [each[0]["xi"] if each else None for each in paired]
    return curves
