"""The lineage of the ten best: who they descend from, back to the start."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evodiverse.analysis.domains import find_metrics
from evodiverse.analysis.metrics.search import N_TOP
from evodiverse.analysis.tables.results import Result
from evodiverse.errors import InputError
from evodiverse.figures.reading import Context, FigureKind, Picture, curve, describe_runs, group_runs, has, numbers
from evodiverse.figures.style import INK, PAGE, add_legend, new_figure, pool_look, use_counts, use_powers
from evodiverse.runlog.log import Log, read_log

NAME: Final = "lineage"
_OURS: Final = "pt"
_EQUATIONS: Final = "equations"
START: Final = -1
_LEAST: Final = 1e-16
_UNITS: Final = {"molecules": "score", "circle packing": "score (sum of radii over the reference)"}


@dataclass(frozen=True, slots=True)
class Lineage:
    """Candidates and from whom they descend.

    Attributes:
        top: The calls of the ten best, best first.
        calls: Those and all their ancestors that have a score, sorted.
        parents: Pairs of a parent and a child among these.
        pools: The pool that proposed each call; `START` for what no pool proposed.
        scores: Of each call.
    """

    top: tuple[int, ...]
    calls: tuple[int, ...]
    parents: tuple[tuple[int, int], ...]
    pools: dict[int, int]
    scores: dict[int, float]


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield a figure for each task and model: of the best run of our method, or of any."""
    usable = [result for result in results if has(result, "best")]
    for kind in sorted({result.kind for result in usable}):
        for group in group_runs(usable, kind):
            for task in sorted({result.task for result in group.results}):
                own = [result for result in group.results if result.task == task]
                ours = [result for result in own if result.run.method == _OURS] or own
                best = max(ours, key=lambda result: numbers(curve(result, "best"))[-1])
                about = "" if best.problem is None else f", {best.problem}"
                yield Picture(
                    f"{NAME}_{task}_{group.suffix}",
                    f"{task}{about}, {group.words}: the ten best of the final pools (large) and all that they descend "
                    f"from, each at the call that evaluated it, of one run: that of {best.run.method} with the best "
                    f"score (seed {best.run.seed}). Lines go from parents to children; colors are the pools that "
                    "proposed them.",
                    partial(draw, best),
                    describe_runs([best]),
                )


def trace(log: Log) -> Lineage:
    """Return the lineage of the ten best in the final pools.

    Raises:
        InputError: A call descends from a later one.
    """
    top = log.top(log.final_union, N_TOP)
    all_parents, pools = log.column("parents"), log.column("pool")
    found: set[int] = set()
    waiting = list(top)
    while waiting:
        call = waiting.pop()
        if call in found:
            continue
        found.add(call)
        own = all_parents.get(call) or ()
        if any(parent >= call for parent in own):
            raise InputError(f"{log.run.path} is damaged (call {call} descends from a later one); run it again")
        waiting += own
    calls = sorted(call for call in found if call in log.scores)
    there = set(calls)
    pairs = [(parent, call) for call in calls for parent in all_parents.get(call) or () if parent in there]
    origins = {call: START if pools.get(call) is None else pools[call] for call in calls}
    return Lineage(tuple(top), tuple(calls), tuple(pairs), origins, {call: log.scores[call] for call in calls})


def draw(best: Result) -> Figure:
    """Return the tree of ancestors, calls against scores."""
    log = read_log(best.run, find_metrics(best.run).columns)
    lineage = trace(log)
    is_error = best.kind == _EQUATIONS
    heights = {call: max(-score, _LEAST) if is_error else score for call, score in lineage.scores.items()}
    figure = new_figure(PAGE * 0.72, 2.7)
    axes = figure.subplots()
    if is_error:
        use_powers(axes)
    segments = [[(parent, heights[parent]), (call, heights[call])] for parent, call in lineage.parents]
    axes.add_collection(LineCollection(segments, colors=INK, linewidths=0.4, alpha=0.35))
    pools = sorted(set(lineage.pools.values()))
    top = set(lineage.top)
    for pool in pools:
        color, marker, _ = _look(pool)
        for is_top in (False, True):
            calls = [call for call in lineage.calls if lineage.pools[call] == pool and (call in top) == is_top]
            axes.scatter(
                *(calls, [heights[call] for call in calls]),
                s=26 if is_top else 8,
                color=color,
                marker=marker,
                edgecolors=INK if is_top else "white",
                linewidths=0.7 if is_top else 0.2,
                zorder=3 if is_top else 2,
            )
    values = np.array([*heights.values()])
    if not is_error and len(values):
        room = 0.06 * float(np.ptp(values)) or 0.05
        axes.set_ylim(values.min() - room, values.max() + room)
    axes.set_xlim(-0.02 * log.last_call, 1.02 * log.last_call)
    use_counts(axes)
    axes.set_xlabel("oracle calls")
    axes.set_ylabel("error (NMSE, fitted data)" if is_error else _UNITS.get(best.kind, "score"))
    add_legend(figure, [(_point(pool), _look(pool)[2]) for pool in pools])
    return figure


def _look(pool: int) -> tuple[str, str, str]:
    """Return color, marker and name of what a pool proposed."""
    if pool == START:
        return INK, "P", "start of all pools"
    return *pool_look(pool), "proposed in pool 0 (coldest)" if pool == 0 else f"proposed in pool {pool}"


def _point(pool: int) -> Line2D:
    color, marker, _ = _look(pool)
    return Line2D([], [], color=color, marker=marker, linestyle="", markersize=4)


FIGURE: Final = FigureKind(
    NAME,
    "The lineage of the ten best",
    find,
    example="evodiverse task=circle_packing method=pt llm=off",
)
