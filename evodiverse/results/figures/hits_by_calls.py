"""Figure ``hits_by_calls``: the numbers of hits, and of hits that differ from each other, against oracle calls.

A hit is a molecule that scores at least `HIT`. Two hits differ if their Tanimoto similarity is below `LIMIT`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from evodiverse.results.figures.intervals import BANDS, WHAT, Band, estimate
from evodiverse.results.figures.lines import draw_bands, legend_of
from evodiverse.results.figures.molecule_panels import MOLECULES, TARGETS, name_of
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Picture,
    budget_of,
    by_method,
    describe_runs,
    group_runs,
)
from evodiverse.results.figures.style import PAGE, add_legend, new_figure, order_methods, use_counts
from evodiverse.results.tables.results import Result
from evodiverse.tasks.molecules.hits import HIT, LIMIT, PERCENTS

NAME: Final = "hits_by_calls"


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    for group in group_runs(results, MOLECULES):
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Molecules, {group.words}: after each tenth of the budget, how many of the molecules evaluated so far "
            f"score at least {HIT:g} (left), and how many of these differ from each other, with similarities below "
            f"{LIMIT:g} (right). {describe_runs(group.results)}. Bands: {WHAT}; a single seed has none.",
            partial(draw, group.results),
            describe_runs(group.results, BANDS),
        )


def count_band(results: Sequence[Result], metric: str, budget: int) -> Band:
    """Average a count over runs, after each tenth of the budget, and return the means with their intervals.

    The band starts with a count of 0 at 0 calls.

    Args:
        results: The runs.
        metric: The prefix of the ten metrics that hold the counts. For example, "hits_at" stands for ``hits_at_10``,
            ``hits_at_20`` and so on, where the number is the percentage of the budget.
        budget: The budget of the runs, in oracle calls.
    """
    calls = np.array([0, *(percent * budget / 100 for percent in PERCENTS)])
    each = [[0.0, *(float(run.metrics[f"{metric}_{percent}"]) for percent in PERCENTS)] for run in results]  # type: ignore[arg-type] # a count
    found = [estimate(column) for column in np.array(each).T.tolist()]
    low, high = (
        np.array([np.nan if bound is None else bound for bound in bounds])
        for bounds in zip(*((one.low, one.high) for one in found), strict=True)
    )
    return Band(calls, np.array([one.mean for one in found]), low, high, len(results))


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with a row of two panels per target."""
    targets = sorted({result.task for result in results}, key=lambda name: (name not in TARGETS, name))
    figure = new_figure(PAGE * 0.72, 0.7 + 1.7 * len(targets))
    axes = figure.subplots(len(targets), 2, squeeze=False, sharex="row")
    for row, target in zip(axes, targets, strict=True):
        own = by_method([result for result in results if result.task == target])
        budget = budget_of([result for some in own.values() for result in some])
        for panel, metric, words in zip(
            row, ("hits_at", "different_hits_at"), ("hits", "hits that differ"), strict=True
        ):
            bands = {method: count_band(own[method], metric, budget) for method in order_methods([*own])}
            draw_bands(panel, bands, steps=False)
            highest = max(float(band.mean.max()) for band in bands.values())
            panel.set_ylim(0, highest * 1.15 or 1)
            use_counts(panel, "y")
            panel.set_ylabel(words)
            panel.set_title(f"{name_of(target)} (molecules)")
            panel.set_xlabel("oracle calls")
    add_legend(figure, legend_of([result.run.method for result in results]))
    return figure


FIGURE: Final = FigureKind(
    NAME,
    "Hits, and hits that differ, against calls",
    find,
    example=f"evodiverse -m task={','.join(TARGETS)} method=molleo,ensemble,tempering,pt llm=off seed=0,1,2",
)
