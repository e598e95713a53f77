"""Figure ``circle_trajectory``: the best sum of radii after each evaluation, with packings of the best run."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

from matplotlib.figure import Figure

from evodiverse.results.figures.intervals import BANDS, WHAT
from evodiverse.results.figures.lines import draw_bands, fit_axis, legend_of, record_bands
from evodiverse.results.figures.packings import draw_packing, read_packings
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Picture,
    Wanted,
    best_run,
    budget_of,
    curve,
    describe_runs,
    group_runs,
    has,
    numbers,
)
from evodiverse.results.figures.style import PAGE, add_legend, new_figure
from evodiverse.results.tables.results import Result

NAME: Final = "circle_trajectory"
PACKING: Final = "circle packing"
METHODS: Final = ("ea", "island", "ensemble", "pt")
_N_SHOWN: Final = 5
_SHARE_SHOWN: Final = 0.9
"""The axis leaves out sums below this share of the best, since the first sums are far below the rest."""


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`) and task."""
    usable = [result for result in results if has(result, "sum_calls", "sum")]
    for group in group_runs(usable, PACKING):
        for task in sorted({result.task for result in group.results}):
            some = [result for result in group.results if result.task == task]
            best = best_run(some, "best_sum")
            if best is not None:
                own = "" if task == "circle_packing" else f"_{task}"
                yield Picture(
                    f"{NAME}_{group.suffix}{own}",
                    f"Packing of {best.run.settings.get('task.n')} circles, {group.words}. Mean over seeds of the "
                    "largest sum of radii so far; sums far below the best are not shown. Below: packings with which "
                    f"the best run ({best.run.method}, seed {best.run.seed}) set a record, each with its evaluation "
                    f"and its sum. {describe_runs(some)}. Bands: {WHAT}; a single seed has none. A run that ended "
                    "early keeps its last value.",
                    partial(draw, some, best),
                    describe_runs(some, BANDS),
                )


def draw(results: Sequence[Result], best: Result) -> Figure:
    """Return a figure with the curves of all methods and, below them, packings with which the best run set a record."""
    calls = [int(call) for call in numbers(curve(best, "sum_calls"))]
    shown = choose_records(calls)
    packings = read_packings(best.run, shown)
    figure = new_figure(PAGE * 0.72, 3.9)
    parts: Any = figure.subfigures(2, 1, height_ratios=(2.1, 1))
    upper, lower = parts
    axes = upper.subplots()
    bands = record_bands(results, "sum_calls", "sum")
    draw_bands(axes, bands, steps=True)
    top = max(float(best.metrics["best_sum"] or 0), 0.0)  # type: ignore[arg-type] # a number, as there is a best run
    fit_axis(axes, bands, least=_SHARE_SHOWN * top)
    axes.set_xlim(0, budget_of(results) * 1.01)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("best sum of radii (unit square = 1)")
    add_legend(upper, legend_of([*bands]), 5)
    sums = dict(zip(calls, numbers(curve(best, "sum")), strict=True))
    for panel, call in zip(lower.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        draw_packing(panel, packings[call])
        panel.set_title(f"evaluation {call:,}\n{sums[call]:.4f}", fontsize=6.5)
    return figure


def choose_records(calls: Sequence[int]) -> list[int]:
    """Return up to `_N_SHOWN` of the calls that set a record: the first, the last, and some evenly spaced between."""
    n = min(_N_SHOWN, len(calls))
    places = {round(place * (len(calls) - 1) / max(1, n - 1)) for place in range(n)}
    return [calls[place] for place in sorted(places)]


FIGURE: Final = FigureKind(
    NAME,
    "The best sum of radii by evaluation",
    find,
    "fig:circle_trajectory",
    Wanted(("circle_packing",), METHODS, ("DeepSeek-V3.2",)),
)
