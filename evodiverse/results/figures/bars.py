"""Bars of runs: means of metrics over the runs of each method, with 95% confidence intervals."""

from collections.abc import Sequence
from math import isfinite
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import Group, Result
from evodiverse.results.grouping import group_by

TRIPS: Final = "round_trips"


def keep_common(results: Sequence[Result], everything: Sequence[Result]) -> list[Result]:
    """Return runs and all baselines (runs of other programs) on those problems on which all methods have runs.

    This is decided separately for each science, which is a group of problems, such as "physics". A method that has no
    runs on a science is ignored for that science.

    Args:
        results: The runs on equations that are compared with baselines.
        everything: All runs, among them those of baselines.
    """
    together = [*results, *(run for run in everything if run.kind == results[0].kind and run.fit == reading.OWN_FIT)]
    kept, sciences = [], group_by(together, reading.science_of)
    for science in reading.sciences_of(together):
        problems = [{run.problem for run in some} for some in reading.by_method(sciences[science]).values()]
        kept += [run for run in sciences[science] if run.problem in set.intersection(*problems)]
    return kept


def draw_engines(group: Group) -> Figure:
    """Return a figure with two panels. Each has a group of bars for each science, with one bar for each method."""
    figure = style.new_figure(style.PAGE, 2.5)
    left, right = figure.subplots(1, 2)
    style.use_powers(left)
    means = _draw_bars(left, group.results, "best_nmse", is_error=True)
    _draw_bars(right, group.results, "best_acc")
    if means:
        left.set_ylim(min(means) / 30, max(means) * 10)
    left.set_ylabel("NMSE, held out (lower is better)")
    right.set(ylabel="Acc0.1, held out (share of runs)", ylim=(0, 1.05))
    style.add_legend(figure, [style.bar_of(style.look_of(method)) for method in reading.by_method(group.results)], 5)
    return figure


def _draw_bars(axes: Axes, results: Sequence[Result], name: str, *, is_error: bool = False) -> list[float]:
    """Draw the means of a metric over the runs of each science and method, and return the means.

    Where a run has a value that is not finite, write ∞ instead of drawing a bar; without any value, draw nothing. The
    mean of an error is geometric.
    """
    about, methods = reading.sciences_of(results), [*reading.by_method(results)]
    width, means = 0.8 / len(methods), []
    for (science, method), some in group_by(results, lambda run: (reading.science_of(run), run.run.method)).items():
        x = about.index(science) + (methods.index(method) - (len(methods) - 1) / 2) * width
        known = [(value, run.problem) for run in some if (value := run.number(name)) is not None]
        if not known:
            continue
        if not all(isfinite(value) for value, _ in known):
            axes.annotate("∞", (x, 0.02), xycoords=("data", "axes fraction"), ha="center")
            continue
        values, problems = zip(*known, strict=True)
        if is_error:
            mean, low, high = 10 ** reading.estimate(np.log10(np.maximum(values, reading.LEAST)), problems)
        else:
            mean, low, high = reading.estimate(values, problems)
        axes.bar(x, mean, width * 0.92, **style.look_of(method).bar)
        if isfinite(low):
            axes.vlines(x, low, high, color=style.INK, linewidth=0.8)
        means.append(float(mean))
    axes.set_xticks(range(len(about)), [style.shorten(science, 14) for science in about])
    axes.set_xlim(-0.6, len(about) - 0.4)
    return means


def draw_trips(group: Group) -> Figure:
    """Return a figure with two panels, each with a row per task and method.

    The left panel shows how often swaps took a candidate from the coldest pool to the hottest and back. The right panel
    shows how many of the ten best candidates in the final pools were proposed in the hottest pool or descend from it.
    """
    rows = group_by(group.results, lambda run: (run.task, run.run.method))
    about = sorted(rows, key=lambda row: (row[0], style.order_methods(method for _, method in rows).index(row[1])))
    figure = style.new_figure(style.PAGE * 0.72, 1.05 + 0.3 * max(2, len(about)))
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, name in ((left, TRIPS), (right, "hot_descendants")):
        for place, row in enumerate(about):
            known = [(value, run.problem) for run in rows[row] if (value := run.number(name)) is not None]
            if not known:
                continue
            look, (values, problems) = style.look_of(row[1]), zip(*known, strict=True)
            mean, low, high = reading.estimate(values, problems)
            axes.barh(place, mean, 0.62, color=look.color, alpha=0.35, linewidth=0)
            if isfinite(low):
                axes.hlines(place, max(0.0, low), high, color=style.INK, linewidth=0.8)
            axes.scatter(values, [place] * len(values), s=9, color=look.color, marker=look.marker, zorder=3)
        axes.set_xlim(-0.03 * max(1.0, axes.get_xlim()[1]), max(1.0, axes.get_xlim()[1]))
        style.use_counts(axes)
    labels = [f"{style.look_of(method).label}, {style.shorten(task, 18)}" for task, method in about]
    left.set_yticks(range(len(about)), labels)
    left.set(ylim=(len(about) - 0.4, -0.6), xlabel="round trips per run")
    right.set(xlabel="of the ten best, from the hottest pool", xlim=(-0.3, 10.3))
    return figure
