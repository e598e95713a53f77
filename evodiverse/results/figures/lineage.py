"""Figure ``lineage``: the ancestors of the ten best candidates, back to the start."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evodiverse.errors import InputError
from evodiverse.results.domains import find_metrics
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Picture,
    curve,
    describe_runs,
    group_runs,
    has,
    numbers,
)
from evodiverse.results.figures.style import INK, PAGE, add_legend, new_figure, pool_look, use_counts, use_powers
from evodiverse.results.metrics.search import N_TOP
from evodiverse.results.tables.results import Result
from evodiverse.runlog.log import Log, read_log

NAME: Final = "lineage"
_OURS: Final = "pt"
_EQUATIONS: Final = "equations"
START: Final = -1
"""The value in `Lineage.pools` for an initial candidate that all pools share."""
_LEAST: Final = 1e-16
_UNITS: Final = {"molecules": "score", "circle packing": "score (sum of radii over the reference)"}


@dataclass(frozen=True, slots=True)
class Lineage:
    """The ancestors of the best candidates.

    A candidate is identified by its call: the number of the oracle call that evaluated it.

    Attributes:
        top: The calls of the ten best candidates, best first.
        calls: The calls of these ten and of all their ancestors that have a score, sorted.
        parents: The pairs (parent, child) among ``calls``.
        pools: By call, the pool that proposed the candidate; `START` for an initial candidate that all pools share.
        scores: By call, the score of the candidate.
    """

    top: tuple[int, ...]
    calls: tuple[int, ...]
    parents: tuple[tuple[int, int], ...]
    pools: dict[int, int]
    scores: dict[int, float]


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`) and task.

    The figure shows the best run of ``pt`` or, if ``pt`` has no runs, the best run of any method.
    """
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
                    f"{task}{about}, {group.words}: the ten best candidates of the final pools (large) and all their "
                    f"ancestors, each at the call that evaluated it, in the run of {best.run.method} with the best "
                    f"score (seed {best.run.seed}). Lines connect parents and children; colors show the pools that "
                    "proposed the candidates.",
                    partial(draw, best),
                    describe_runs([best]),
                )


def trace(log: Log) -> Lineage:
    """Return the lineage of the ten best candidates in the final pools.

    Raises:
        InputError: The log is damaged: a candidate has a parent that was not evaluated before it.
    """
    top = log.top(log.final_union, N_TOP)
    all_parents, pools = log.column("parents"), log.column("pool")
    visited: set[int] = set()
    waiting = list(top)
    while waiting:
        call = waiting.pop()
        if call in visited:
            continue
        visited.add(call)
        own = all_parents.get(call) or ()
        if any(parent >= call for parent in own):
            raise InputError(
                f"{log.run.path} is damaged (call {call} descends from a later one); run it again with overwrite=true"
            )
        waiting += own
    calls = sorted(call for call in visited if call in log.scores)
    scored = set(calls)
    pairs = [(parent, call) for call in calls for parent in all_parents.get(call) or () if parent in scored]
    origins = {call: START if pools.get(call) is None else pools[call] for call in calls}
    return Lineage(tuple(top), tuple(calls), tuple(pairs), origins, {call: log.scores[call] for call in calls})


def draw(best: Result) -> Figure:
    """Return a figure of the ten best candidates in the final pools and their ancestors: scores against oracle calls.

    For equations, the figure shows errors instead of scores.
    """
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
    """Return the color, marker and legend text of the candidates that a pool proposed."""
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
