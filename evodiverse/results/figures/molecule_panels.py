"""Panels of molecule runs: scores with the number of diverse molecules, and scores of all methods."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from evodiverse.results.figures.intervals import WHAT, estimate, hold
from evodiverse.results.figures.lines import draw_bands, fit_axis, iteration_bands, legend_of, say_nothing
from evodiverse.results.figures.reading import budget_of, by_method, curve, describe_runs, has, numbers
from evodiverse.results.figures.style import (
    INK,
    PAGE,
    add_legend,
    look_of,
    new_figure,
    order_methods,
    shorten,
    use_counts,
)
from evodiverse.results.tables.results import Result

MOLECULES: Final = "molecules"
TARGETS: Final = {"jnk3": "JNK3", "gsk3b": "GSK3β"}
DRUG_LIKE: Final = "drug_like"
DIVERSE: Final = "diverse_top10"
_TITLES: Final = {DRUG_LIKE: "QED > 0.5, SA < 5.5", DIVERSE: "diverse top 10"}
_CURVES: Final = ("calls", DIVERSE, DRUG_LIKE, "n_diverse")
_N_BARS: Final = 8
_COMPARED: Final = ("molleo", "pt")


def usable(results: Sequence[Result]) -> list[Result]:
    """Return the runs that have all curves needed for the panels of this module, none of them empty."""
    return [result for result in results if has(result, *_CURVES)]


def draw_page(results: Sequence[Result], target: str, metric: str) -> Figure:
    """Return a figure with scores and numbers of diverse molecules for one target (a), and scores for both targets (b).

    Args:
        results: The runs of one group.
        target: The task whose scores and numbers the first panel shows, "jnk3" or "gsk3b".
        metric: The name of the curve that the other panels show, `DRUG_LIKE` or `DIVERSE`.
    """
    figure = new_figure(PAGE, 2.65)
    axes = figure.subplots(1, 3, width_ratios=(1.25, 1, 1))
    draw_scores_and_counts(axes[0], of_target(results, target), f"(a) {name_of(target)}")
    for place, each in enumerate(TARGETS):
        draw_trajectories(axes[1 + place], of_target(results, each), metric, f"(b) {name_of(each)}")
    axes[1].set_ylabel(f"mean score\n{_TITLES[metric]}")
    methods = [result.run.method for result in results]
    add_legend(figure, [*legend_of(methods), (Patch(facecolor="white", edgecolor=INK), "(a) molecules, right axis")], 6)
    return figure


def draw_scores_and_counts(axes: Axes, results: Sequence[Result], title: str) -> None:
    """Draw the mean scores of the diversity-aware top 10 as lines, and the numbers of diverse molecules as bars.

    The diversity-aware top 10 is a selection of at most ten molecules. The number of diverse molecules is the size that
    this selection would have without the limit of ten. If there are runs of both ``molleo`` and ``pt``, only these two
    methods are drawn.
    """
    axes.set_title(title)
    methods = {result.run.method for result in results}
    shown = [result for result in results if result.run.method in _COMPARED or not methods >= {*_COMPARED}]
    if not shown:
        say_nothing(axes)
        return
    right = axes.twinx()
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    budget = budget_of(shown)
    bands = iteration_bands(shown, DIVERSE)
    _draw_counts(right, shown, budget)
    draw_bands(axes, bands, steps=False)
    fit_axis(axes, bands, least=0, most=1)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0, low - 0.35 * (high - low)), high)  # room for the bars below the lines
    axes.set_xlim(0, budget * 1.01)
    axes.set_xlabel("oracle calls")
    axes.set_ylabel("mean score, diverse top 10")


def _draw_counts(axes: Axes, results: Sequence[Result], budget: int) -> None:
    grouped = by_method(results)
    methods = order_methods([*grouped])
    points = np.linspace(budget / _N_BARS, budget, _N_BARS)
    width = 0.8 * points[0] / len(methods)
    highest = 0.0
    for place, method in enumerate(methods):
        at = points - 0.9 * points[0] + (place + 0.5) * width
        held = [hold(numbers(curve(run, "calls")), curve(run, "n_diverse"), points) for run in grouped[method]]
        heights = [estimate(column.tolist()).mean for column in np.array(held).T]
        look = look_of(method)
        axes.bar(
            at, heights, width, facecolor="none", edgecolor=look.color, hatch=look.hatch, linewidth=0.6, alpha=0.55
        )
        axes.bar(at, heights, width, color=look.color, alpha=0.15, linewidth=0, label=method)
        highest = max(highest, *heights)
    axes.set_ylim(0, highest * 2.2 or 1)  # leaves the upper half to the lines
    use_counts(axes, "y")
    axes.spines["right"].set_visible(True)
    axes.set_ylabel("diverse molecules, no cap")


def draw_trajectories(axes: Axes, results: Sequence[Result], metric: str, title: str) -> None:
    """Draw one line per method: the mean over its runs of the curve named ``metric``."""
    axes.set_title(title)
    bands = iteration_bands(results, metric)
    if not any(np.isfinite(band.mean).any() for band in bands.values()):
        say_nothing(axes)
        return
    draw_bands(axes, bands, steps=False)
    fit_axis(axes, bands, least=0, most=1)
    axes.set_xlabel("oracle calls")


def of_target(results: Sequence[Result], target: str) -> list[Result]:
    """Return the runs of a target."""
    return [result for result in results if result.task == target]


def name_of(task: str) -> str:
    """Return the display name of a target."""
    return TARGETS.get(task, shorten(task, 30))


def caption_of(results: Sequence[Result]) -> str:
    """Return the part of a caption that describes the runs and explains the bands."""
    per_target = "; ".join(
        f"{name_of(target)}: {describe_runs(some)}" for target in TARGETS if (some := of_target(results, target))
    )
    return f"{per_target}. Bands: {WHAT}; a single seed has none. A run that ended early keeps its last value."
