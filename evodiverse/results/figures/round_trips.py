"""Figure ``round_trips``: the trips of candidates between pools, and the origin of the best candidates.

The left panel shows how often swaps took a candidate from the coldest pool to the hottest and back. The right panel
shows how many of the ten best candidates in the final pools were proposed in the hottest pool or descend from it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evodiverse.results.figures.intervals import WHAT, WHISKERS, estimate
from evodiverse.results.figures.reading import Context, FigureKind, Picture, by_method, describe_runs, group_runs
from evodiverse.results.figures.style import INK, PAGE, look_of, new_figure, order_methods, shorten, use_counts
from evodiverse.results.tables.results import Result

NAME: Final = "round_trips"
_TRIPS: Final = "round_trips"
_DESCENDANTS: Final = "hot_descendants"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per kind of task and group of runs (see `group_runs`). Runs without swaps are ignored."""
    with_swaps = [result for result in results if result.metrics.get(_TRIPS) is not None]
    for kind in sorted({result.kind for result in with_swaps}):
        for group in group_runs(with_swaps, kind):
            yield Picture(
                f"{NAME}_{kind}_{group.suffix}",
                f"{kind.capitalize()}, {group.words}. Left: how often swaps took a candidate from the coldest pool to "
                "the hottest and back, per run. Right: how many of the ten best candidates in the final pools were "
                f"proposed in the hottest pool or descend from it. {describe_runs(group.results)}. Dots: runs; bars: "
                f"means; whiskers: {WHAT}, within problems.",
                partial(draw, group.results),
                describe_runs(group.results, WHISKERS),
            )


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with two panels, each with a row per task and method."""
    about = [
        (task, method)
        for task in sorted({result.task for result in results})
        for method in order_methods([result.run.method for result in results if result.task == task])
    ]
    figure = new_figure(PAGE * 0.72, 1.05 + 0.3 * max(2, len(about)))
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_metric(left, results, about, _TRIPS)
    _draw_metric(right, results, about, _DESCENDANTS)
    left.set_yticks(range(len(about)), [f"{look_of(method).label}, {shorten(task, 18)}" for task, method in about])
    left.set_ylim(len(about) - 0.4, -0.6)
    left.set_xlabel("round trips per run")
    right.set_xlabel("of the ten best, from the hottest pool")
    right.set_xlim(-0.3, 10.3)
    return figure


def _draw_metric(axes: Axes, results: Sequence[Result], about: Sequence[tuple[str, str]], metric: str) -> None:
    for place, (task, method) in enumerate(about):
        own = by_method([result for result in results if result.task == task])[method]
        known = [
            (float(value), run.problem) for run in own if isinstance(value := run.metrics.get(metric), int | float)
        ]
        if not known:
            continue
        values = [value for value, _ in known]
        look, point = look_of(method), estimate(values, [problem for _, problem in known])
        axes.barh(place, point.mean, 0.62, color=look.color, alpha=0.35, linewidth=0)
        if point.low is not None and point.high is not None:
            axes.hlines(place, max(0.0, point.low), point.high, color=INK, linewidth=0.8)
        axes.scatter(values, [place] * len(values), s=9, color=look.color, marker=look.marker, zorder=3)
    axes.set_xlim(-0.03 * max(1.0, axes.get_xlim()[1]), max(1.0, axes.get_xlim()[1]))
    use_counts(axes)


FIGURE: Final = FigureKind(
    NAME,
    "Round trips between the pools",
    find,
    example="evodiverse -m task=circle_packing method=pt,random_swap llm=off seed=0,1,2",
)
