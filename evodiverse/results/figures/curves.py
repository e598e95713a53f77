"""Curves of runs: a line for the mean over the runs of each method, and a band for its 95% confidence interval."""

from collections.abc import Callable, Mapping, Sequence
from math import log10
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import FloatArray, Group, Result, budget_of, by_method, curve, has, numbers
from evodiverse.results.figures.style import PAGE, Look, name_of, new_figure
from evodiverse.results.grouping import group_by
from evodiverse.text import count_of

DRUG_LIKE: Final = "drug_like"
DIVERSE: Final = "diverse_top10"
HITS: Final = "hits_at_"
"""The start of the names of metrics with numbers of hits; a percentage of the budget follows."""

_TITLES: Final = {DRUG_LIKE: "QED > 0.5, SA < 5.5", DIVERSE: "diverse top 10"}
_COMPARED: Final = ("molleo", "pt")
_N_BARS: Final = 8
Curve = tuple[Sequence[float], Sequence[Any]]  # numbers, and None or NaN for no value
Change = Callable[[FloatArray], FloatArray]
LookOf = Callable[[Any], Look]


class Band(NamedTuple):
    """A mean curve with its 95% t interval.

    Attributes:
        x: ``(n,)`` numbers of oracle calls or of iterations, in increasing order. In a band from `make_iteration_band`,
            consecutive numbers may be equal.
        mean: ``(n,)`` means; NaN where no run has a value.
        low: ``(n,)`` lower bounds; NaN where there is no interval.
        high: ``(n,)`` upper bounds; NaN where there is no interval.
    """

    x: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def hold(calls: Sequence[float], values: Sequence[float | None], at: FloatArray) -> FloatArray:
    """Return the values of a step curve at given numbers of calls: each is the last value that the curve took by then.

    Args:
        calls: ``(n,)`` numbers of oracle calls at which the curve takes its values, non-decreasing.
        values: ``(n,)`` values of the curve; None for no value.
        at: ``(m,)`` numbers of calls at which to read the curve.

    Returns:
        ``(m,)`` values; NaN before the start of the curve, and where it has no value.
    """
    return np.array([np.nan, *values], dtype=np.float64)[np.searchsorted(np.asarray(calls), at, side="right")]


def make_band(curves: Sequence[Curve], strata: Sequence[Any] | None = None, end: float | None = None) -> Band:
    """Return the mean of the step curves of some runs, at each x (usually a number of calls) where one of them changes.

    After its last x, a curve keeps its last value. The mean at an x is over the curves that have a value there.

    Args:
        curves: The x and the values of the curve of each run, at least one run.
        strata: The problem of each run, needed to average over problems as `estimate` does; None if all runs are on one
            problem.
        end: The x at which the band ends; None for the largest x of the curves.
    """
    x = np.unique(np.concatenate([np.asarray(calls, dtype=np.float64) for calls, _ in curves]))
    if end is not None:
        x = np.unique(np.append(x[x <= end], end))
    return Band(x, *reading.estimate([hold(calls, values, x) for calls, values in curves], strata))


def make_iteration_band(curves: Sequence[Curve]) -> Band:
    """Return the mean curve of some runs, with one point per iteration.

    The x of a point is the mean number of calls made up to its iteration, and the y is the mean value. After a run has
    ended, its last value still counts toward the mean y, but the run no longer counts toward the mean x. Where this
    would make x fall, because the longer runs made fewer calls per iteration, x stays the same.

    Args:
        curves: For each run, the number of calls made so far and the value, after each iteration; at least one run.
    """
    n = max(len(values) for _, values in curves)
    calls = [[*calls, *[np.nan] * (n - len(calls))] for calls, _ in curves]
    held = [[*values, *[values[-1]] * (n - len(values))] for _, values in curves]
    return Band(np.maximum.accumulate(np.nanmean(calls, axis=0)), *reading.estimate(held))


def record_bands(
    results: Sequence[Result], x: str, y: str, change: Callable[[float], float] = lambda value: value
) -> dict[str, Band]:
    """Return, by method, the mean over runs of the best value so far, with its interval, as a curve over oracle calls.

    A run sets a record when a value is better than all earlier ones; the record holds until the next one. The methods
    are sorted as in the legends of figures (see `order_methods`). Methods without records are left out.

    Args:
        results: The runs, at least one.
        x: The name of the curve with the calls that set the records, such as "best_calls".
        y: The name of the curve with the records, such as "best".
        change: A function applied to each record before averaging, for example the logarithm.
    """
    bands = {}
    for method, some in by_method([run for run in results if has(run, x, y)]).items():
        curves = [(numbers(run, x), [*map(change, numbers(run, y))]) for run in some]
        bands[method] = make_band(curves, [run.problem for run in some], budget_of(results))
    return bands


def iteration_bands(results: Sequence[Result], name: str) -> dict[str, Band]:
    """Return, by method, the mean over runs of a curve with one value per iteration, with its 95% confidence interval.

    The methods are sorted as in the legends of figures (see `order_methods`). Methods without the curve named ``name``
    are left out.
    """
    return {
        method: make_iteration_band([(numbers(run, "calls"), curve(run, name)) for run in some])
        for method, some in by_method([run for run in results if has(run, "calls", name)]).items()
    }


def draw_bands(
    axes: Axes, bands: Mapping[Any, Band], change: Change = np.asarray, *, steps: bool, look: LookOf = style.look_of
) -> None:
    """Draw a line and a band for each method.

    Args:
        axes: The panel to draw in.
        bands: The band of each method.
        change: A function applied to means and bounds before they are drawn, for example the inverse of the logarithm.
        steps: Whether a value holds until the next one. Otherwise, straight lines join the points.
        look: A function that returns the look of each band, given its key.
    """
    share = min(0.18, 0.4 / max(1, len(bands)))  # where all bands overlap, their opacity is 0.4 or a little more
    for name, band in bands.items():
        own = look(name)
        mean, low, high = change(np.array(band[1:]))
        axes.fill_between(band.x, low, high, step="post" if steps else None, color=own.color, alpha=share, linewidth=0)
        drawstyle = "steps-post" if steps else "default"
        marks: dict[str, Any] = {"markersize": 3.2, "markevery": max(1, len(mean) // 6)}
        axes.plot(band.x, mean, drawstyle=drawstyle, linewidth=1.4, **marks, **own.line)
    axes.margins(x=0.01)
    style.use_counts(axes)


def fit_axis(axes: Axes, bands: Mapping[str, Band], least: float = -np.inf, most: float = np.inf) -> None:
    """Make the vertical axis span all lines, with a margin above and below; bands may extend beyond it.

    Args:
        axes: The panel.
        bands: The band of each method.
        least: The value below which the axis does not extend. Means below it are ignored, unless all are below it.
        most: The value above which the axis does not extend.
    """
    values = _means(bands)
    near = values[values >= least] if (values >= least).any() else values
    if len(near):
        low, high = float(near.min()), float(near.max())
        room = 2 * ((high - low) * 0.08 or 0.05 * abs(high) or 0.05)
        axes.set_ylim(max(least, low - room), min(most, high + room))


def _means(bands: Mapping[str, Band]) -> FloatArray:
    values: FloatArray = np.concatenate([[], *(band.mean for band in bands.values())])
    return values[np.isfinite(values)]


def draw_molecules(group: Group, target: str, metric: str) -> Figure:
    """Return a figure with scores and numbers of diverse molecules for one target (a), and scores for both targets (b).

    Targets without runs have no panel.

    Args:
        group: The runs.
        target: The task whose scores and numbers the first panel shows, "jnk3" or "gsk3b".
        metric: The name of the curve that the other panels show, `DRUG_LIKE` or `DIVERSE`.
    """
    tasks, entries = group_by(group.results, attrgetter("task")), legend_of(group.results)
    shown = [each for each in style.TARGETS if each in tasks]
    widths = [*[1.25] * (target in tasks), *[1.0] * len(shown)]
    figure = new_figure(max(style.COLUMN, PAGE * sum(widths) / 3.25), 2.65)
    panels = figure.subplots(1, len(widths), squeeze=False, width_ratios=widths)[0]
    if target in tasks:
        _draw_scores_and_counts(panels[0], tasks[target], f"(a) {name_of(target)}")
        entries.append((Patch(facecolor="white", edgecolor=style.INK), "(a) molecules, right axis"))
    others = panels[-len(shown) :]
    for axes, each in zip(others, shown, strict=True):
        _draw_scores(axes, tasks[each], metric, f"(b) {name_of(each)}")
    others[0].set_ylabel(f"mean score\n{_TITLES[metric]}")
    style.add_legend(figure, entries, 6)
    return figure


def draw_graph_ga(group: Group) -> Figure:
    """Return a figure with two rows of panels and a column per target that has runs."""
    tasks = group_by(group.results, attrgetter("task"))
    shown = [target for target in style.TARGETS if target in tasks]
    figure = new_figure(max(style.COLUMN, PAGE * 0.36 * len(shown)), 4.2)
    for row, letter, metric in zip(figure.subplots(2, len(shown), squeeze=False), "ab", _TITLES, strict=True):
        for axes, target in zip(row, shown, strict=True):
            _draw_scores(axes, tasks[target], metric, f"({letter}) {name_of(target)}")
        row[0].set_ylabel(f"mean score\n{_TITLES[metric]}")
    style.add_legend(figure, legend_of(group.results))
    return figure


def legend_of(results: Sequence[Result]) -> list[tuple[Any, str]]:
    """Return the entries of a legend for the methods of some runs, each with its line and text."""
    return [style.line_of(style.look_of(method)) for method in by_method(results)]


def _draw_scores_and_counts(axes: Axes, results: Sequence[Result], title: str) -> None:
    """Draw the mean scores of the diversity-aware top 10 as lines, and the numbers of diverse molecules as bars.

    The diversity-aware top 10 is a selection of at most ten molecules. The number of diverse molecules is the size that
    this selection would have without the limit of ten. If there are runs of both ``molleo`` and ``pt``, only these two
    methods are drawn.
    """
    both = by_method(results).keys() >= {*_COMPARED}
    shown = [result for result in results if result.run.method in _COMPARED or not both]
    _draw_scores(axes, shown, DIVERSE, title)
    (low, high), right = axes.get_ylim(), axes.twinx()
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    _draw_counts(right, shown, budget_of(shown))
    axes.set_ylim(max(0, low - 0.35 * (high - low)), high)  # room for the bars below the lines
    axes.set(xlim=(0, budget_of(shown) * 1.01), ylabel="mean score, diverse top 10")


def _draw_counts(axes: Axes, results: Sequence[Result], budget: int) -> None:
    grouped = by_method(results)
    points = np.linspace(budget / _N_BARS, budget, _N_BARS)
    width = 0.8 * points[0] / len(grouped)
    highest = 0.0
    for place, (method, some) in enumerate(grouped.items()):
        look, at = style.look_of(method), points - 0.9 * points[0] + (place + 0.5) * width
        held = [hold(numbers(run, "calls"), curve(run, "n_diverse"), points) for run in some]
        heights = np.mean(held, axis=0)
        pale = {"facecolor": to_rgba(look.color, 0.15), "edgecolor": to_rgba(look.color, 0.55), "linewidth": 0.6}
        axes.bar(at, heights, width, label=method, **(look.bar | pale))
        highest = max(highest, *heights)
    axes.set_ylim(0, highest * 2.2 or 1)  # leaves the upper half to the lines
    style.use_counts(axes, "y")
    axes.spines["right"].set_visible(True)
    axes.set_ylabel("diverse molecules, no cap")


def _draw_scores(axes: Axes, results: Sequence[Result], metric: str, title: str) -> None:
    """Draw one line per method: the mean over its runs of the curve named ``metric``."""
    axes.set_title(title)
    bands = iteration_bands(results, metric)
    if len(_means(bands)):
        draw_bands(axes, bands, steps=False)
        fit_axis(axes, bands, least=0, most=1)
        axes.set_xlabel("oracle calls")
    else:
        axes.annotate("no such molecules yet", (0.5, 0.5), xycoords="axes fraction", ha="center", va="center")
        axes.set(xticks=[], yticks=[])


def describe_targets(group: Group) -> str:
    """Return the part of a caption that describes the runs of each target and explains the bands."""
    tasks = group_by(group.results, attrgetter("task"))
    each = [f"{name_of(task)}: {reading.describe_runs(tasks[task])}" for task in style.TARGETS if task in tasks]
    return f"{'; '.join(each)}. Bands: {reading.WHAT}; a single seed has none."


def describe_hits(group: Group) -> dict[str, float]:
    """Return the least score of a hit, and the similarity from which on two hits do not differ."""
    metrics: Any = reading.find_metrics(group, group.best)
    threshold = metrics.threshold if group.context.threshold is None else group.context.threshold
    return {"least": threshold, "limit": metrics.limit}


def _read_hits(group: Group, result: Result) -> Mapping[str, Any]:
    """Return the numbers of hits of a run after shares of its budget, with the threshold that the user chose."""
    if (threshold := group.context.threshold) is None:
        return result.metrics
    metrics: Any
    metrics, log = reading.open_log(group, result)
    return metrics.count_hits(log, threshold)  # type: ignore[no-any-return]


def draw_hits(group: Group) -> Figure:
    """Return a figure with a row of two panels per target: hits, and hits that differ, against calls."""
    tasks = group_by(group.results, attrgetter("task"))
    counts = {id(run): _read_hits(group, run) for run in group.results}
    percents = sorted(int(name.removeprefix(HITS)) for name in counts[id(group.best)] if name.startswith(HITS))
    targets = sorted(tasks, key=lambda name: (name not in style.TARGETS, name))
    figure = new_figure(PAGE * 0.72, 0.7 + 1.7 * len(targets))
    for row, target in zip(figure.subplots(len(targets), 2, squeeze=False, sharex="row"), targets, strict=True):
        own, budget = by_method(tasks[target]), budget_of(tasks[target])
        calls = [0, *(percent * budget / 100 for percent in percents)]
        words = {HITS: "hits", f"different_{HITS}": "hits that differ"}
        for axes, metric in zip(row, words, strict=True):
            bands = {}
            for method, some in own.items():
                counted = [[0, *(counts[id(run)][f"{metric}{each}"] for each in percents)] for run in some]
                bands[method] = make_band([(calls, values) for values in counted])
            draw_bands(axes, bands, steps=False)
            axes.set_ylim(0, float(_means(bands).max()) * 1.15 or 1)
            style.use_counts(axes, "y")
            axes.set(ylabel=words[metric], title=name_of(target), xlabel="oracle calls")
    style.add_legend(figure, legend_of(group.results))
    return figure


def draw_errors(group: Group) -> Figure:
    """Return a figure of the smallest errors so far, with one panel for each field of science."""
    about = reading.sciences_of(group.results)
    figure = new_figure(min(PAGE, 1.7 * len(about) + 1.7), 2.2)
    sciences = group_by(group.results, reading.science_of)
    for axes, science in zip(figure.subplots(1, len(about), squeeze=False)[0], about, strict=True):
        some = sciences[science]
        bands = record_bands(some, "best_calls", "best", lambda score: log10(max(-score, reading.LEAST)))
        style.use_powers(axes)
        draw_bands(axes, bands, lambda powers: np.power(10.0, powers), steps=True)
        values = _means(bands)
        room = 0.08 * np.ptp(values) + 0.15
        axes.set(ylim=(10 ** (values.min() - room), 10 ** (values.max() + room)), xlim=(0, budget_of(some) * 1.01))
        axes.set_title(f"{style.shorten(science, 20)}, {count_of(len({run.problem for run in some}), 'problem')}")
        axes.set_xlabel("oracle calls")
        if science == about[0]:
            axes.set_ylabel("best error (NMSE, fitted data)")
    style.add_legend(figure, legend_of(group.results))
    return figure


def draw_rises(group: Group, name: str, label: str) -> Figure:
    """Return a figure of a number that only rises with the calls, such as the best score so far.

    Args:
        group: The runs.
        name: The name of its curve, such as "best".
        label: What the number is.
    """
    figure = new_figure(PAGE * 0.5, 2.4)
    axes, bands = figure.subplots(), record_bands(group.results, f"{name}_calls", name)
    draw_bands(axes, bands, steps=True)
    fit_axis(axes, bands)
    axes.set(xlim=(0, budget_of(group.results) * 1.01), xlabel="oracle calls", ylabel=label)
    style.add_legend(figure, legend_of(group.results))
    return figure


def draw_swaps(group: Group, panel_of: Callable[[Result], str]) -> Figure:
    """Return a figure with columns of two panels: ξ on top, and below it the share of swaps that were accepted.

    ξ is a factor in the exponent of the swap probability; the larger it is, the fewer swaps are accepted. Each panel
    has one line per pair of neighboring pools.

    Args:
        group: The runs.
        panel_of: A function that is called with each run and returns the title of the column of panels that shows it.
    """
    about = group_by(group.results, panel_of)
    figure = new_figure(min(PAGE, 1.6 + 1.75 * len(about)), 3.4)
    panels = figure.subplots(2, len(about), squeeze=False, sharex="col")
    pairs = range(max(sum(name.startswith("curve.xi.") for name in run.metrics) for run in group.results))
    for column, name in zip(panels.T, sorted(about), strict=True):
        top, bottom = column
        bottom.axhspan(0.3, 0.4, color=style.INK, alpha=0.08, linewidth=0)  # where the paper's curves settle
        for axes, each in zip(column, ("xi", "swap_acceptance"), strict=True):
            bands = {}
            for pair in pairs:
                if some := [run for run in about[name] if has(run, f"{each}.{pair}")]:
                    curves = [(numbers(run, "exchanges"), curve(run, f"{each}.{pair}")) for run in some]
                    bands[pair] = make_band(curves, [run.problem for run in some])
            draw_bands(axes, bands, lambda values: np.maximum(values, 0), steps=False, look=style.pair_look)
            axes.margins(x=0.05)
        top.set(title=style.shorten(name, 26), ylim=(0, 1.08 * top.get_ylim()[1]))
        bottom.set(ylim=(-0.03, 1.03), xlabel="iteration")
    panels[0, 0].set_ylabel("powering factor ξ")
    panels[1, 0].set_ylabel("swaps accepted (share)")
    if len(pairs) > 1:
        style.add_legend(figure, [style.line_of(style.pair_look(pair)) for pair in pairs])
    return figure
