"""Figures of one run: the ancestors of its best candidates, and drawings of its molecules."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import Group, Log, Result
from evodiverse.results.figures.style import Look
from evodiverse.results.grouping import group_by

START: Final = -1
"""Stands for the pool of an initial candidate that all pools share."""
_UNITS: Final = {"circle packing": "score (sum of radii over the reference)", "equations": "error (NMSE, fitted data)"}
_COLUMNS: Final = 5


def keep_best(results: Sequence[Result], _: Sequence[Result] = ()) -> list[Result]:
    """Return only the run with the best candidate."""
    return [max(results, key=lambda run: reading.numbers(run, "best")[-1])]


def describe(group: Group) -> str:
    """Return the task and, if there is one, the problem, and the model of a run."""
    return ", ".join(filter(None, [group.best.task, group.best.problem, group.words]))


def find_ancestors(log: Log, top: Sequence[int]) -> list[int]:
    """Return the calls of some candidates and of all their ancestors that have a score, sorted."""
    calls, parents = {*top}, log.column("parents")
    for call in sorted(parents, reverse=True):  # parents have lower numbers
        calls.update(parents[call] or () if call in calls else ())
    return sorted(calls & log.scores.keys())


def draw_lineage(group: Group) -> Figure:
    """Return a figure of the ten best candidates in the final pools and their ancestors: scores against oracle calls.

    For equations, the figure shows errors instead of scores.
    """
    _, log = reading.open_log(group, group.best)
    is_error = group.kind == "equations"
    top, parents, pools = log.top(log.final_union, 10), log.column("parents"), log.column("pool")
    scores = {call: log.scores[call] for call in find_ancestors(log, top)}
    heights = {call: max(-score, reading.LEAST) if is_error else score for call, score in scores.items()}
    figure = style.new_figure(style.PAGE * 0.72, 2.7)
    axes = figure.subplots()
    if is_error:
        style.use_powers(axes)
    pairs = [(parent, call) for call in heights for parent in parents[call] or () if parent in heights]
    segments = [[(call, heights[call]) for call in pair] for pair in pairs]
    axes.add_collection(LineCollection(segments, colors=style.INK, linewidths=0.4, alpha=0.35))
    by_pool = group_by(heights, lambda call: START if pools[call] is None else pools[call])
    looks = {pool: _look_of(pool) for pool in sorted(by_pool)}
    for pool, look in looks.items():
        for is_top, size, edge, width in ((False, 8, "white", 0.2), (True, 26, style.INK, 0.7)):
            calls = [call for call in by_pool[pool] if (call in top) == is_top]
            how: dict[str, Any] = {"s": size, "edgecolors": edge, "linewidths": width, "zorder": 2 + is_top}
            axes.scatter(calls, [heights[call] for call in calls], color=look.color, marker=look.marker, **how)
    axes.set_xlim(-0.02 * log.last_call, 1.02 * log.last_call)
    style.use_counts(axes)
    axes.set(xlabel="oracle calls", ylabel=_UNITS.get(group.kind, "score"))
    style.add_legend(figure, [style.line_of(look) for look in looks.values()])
    return figure


def _look_of(pool: int) -> Look:
    """Return the look of the candidates that a pool proposed."""
    if pool == START:
        return Look("start of all pools", style.INK, "", "P", "")
    return replace(style.pool_look(pool), label=f"proposed in {style.pool_look(pool).label}")


def draw_top(group: Group) -> Figure:
    """Return a figure of the diversity-aware top 10 of the final pools of a run with their scores, in rows of five.

    The diversity-aware top 10 holds up to ten molecules with high scores that are not too similar to each other on
    average. The mean of these scores is the metric ``diverse_top10`` of the tables.

    Raises:
        InputError: The log is damaged.
    """
    metrics: Any
    metrics, log = reading.open_log(group, group.best)
    calls = metrics.pick_top(log)
    n_rows = max(1, -(-len(calls) // _COLUMNS))
    figure = style.new_figure(style.PAGE, 1.35 * n_rows)
    panels = figure.subplots(n_rows, _COLUMNS, squeeze=False).ravel()
    for panel in panels:
        panel.set_axis_off()
    for rank, (panel, call) in enumerate(zip(panels, calls, strict=False), start=1):
        reading.draw_candidate(panel, group, group.best, call, log.keys[call], {})
        panel.set_title(f"{rank}: {log.scores[call]:.3f}", fontsize=7, pad=1)
    return figure
