"""Metrics of the search itself.

They tell how many swaps between neighboring pools were accepted, how often swaps took a candidate from the coldest pool
to the hottest and back, how many of the best candidates stem from the hottest pool, and after how many oracle calls the
search reached given scores.
"""

from collections.abc import Sequence

from evodiverse.results.grouping import group_by
from evodiverse.runlog.log import Log
from evodiverse.runlog.values import Measurement, Value, mean

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
    pairs = zip(*(log.swaps[name] for name in ("cold_pool", "accepted", "blocked")), strict=True)
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
    names = ("cold_pool", "hot_pool", "cold_call", "hot_call", "accepted")
    for cold_pool, hot_pool, down, up, accepted in zip(*(log.swaps[name] for name in names), strict=True):
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
