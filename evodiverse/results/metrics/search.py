"""Metrics of the search itself, and the curves of a run, which figures draw.

They tell how many swaps between neighboring pools were accepted, how often swaps took a candidate from the coldest pool
to the hottest and back, how many of the best candidates stem from the hottest pool, and after how many oracle calls the
search reached given scores.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from evodiverse.results.grouping import group_by
from evodiverse.runlog.log import Log, Measurement, Value, calls_by_iteration, find_rises, mean, select

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
    pairs = select(log.swaps, "cold_pool", "accepted", "blocked")
    tried = group_by([pair for pair in pairs if not pair[2]], lambda pair: pair[0])
    pools = range(len(log.run.settings["method.ladder"]) - 1)
    return [mean([accepted for _, accepted, _ in tried.get(pool, [])]) for pool in pools]


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
    swaps = select(log.swaps, "cold_pool", "hot_pool", "cold_call", "hot_call", "accepted")
    for cold_pool, hot_pool, down, up, accepted in swaps:
        if not accepted:
            continue
        if cold_pool == 0:
            half_way[down] = False  # the round trip starts
            trips += half_way.get(up, False)
            half_way[up] = False
        if hot_pool == hottest and down in half_way:
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
    tried: dict[tuple[int, int], list[bool]] = defaultdict(list)
    factors: dict[tuple[int, int], float] = {}
    swaps = select(log.swaps, "iteration", "cold_pool", "accepted", "blocked", "xi")
    for iteration, pool, accepted, blocked, xi in swaps:
        tried[pool, iteration] += [] if blocked else [accepted]
        factors.setdefault((pool, iteration), xi)
    if not factors:
        return {}
    exchanges = sorted({iteration for _, iteration in factors})
    curves: dict[str, Value] = {"curve.exchanges": [*map(float, exchanges)]}
    for pool in sorted({pool for pool, _ in factors}):
        curves[f"curve.swap_acceptance.{pool}"] = [mean(tried.get((pool, iteration), [])) for iteration in exchanges]
        curves[f"curve.xi.{pool}"] = [factors.get((pool, iteration)) for iteration in exchanges]
    return curves
