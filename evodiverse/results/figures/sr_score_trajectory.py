"""Figure ``sr-score-trajectory``: the best error so far, for each science (paper, "Equation Discovery")."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import log10
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from evodiverse.results.figures.diagnostics import EQUATIONS, SCIENCES
from evodiverse.results.figures.intervals import BANDS, WHAT
from evodiverse.results.figures.lines import draw_bands, fit_log_axis, legend_of, record_bands
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Picture,
    Wanted,
    budget_of,
    describe_runs,
    group_runs,
    has,
)
from evodiverse.results.figures.style import PAGE, add_legend, new_figure, shorten, use_powers
from evodiverse.results.tables.results import Result

NAME: Final = "sr-score-trajectory"
METHODS: Final = ("tempering", "ensemble", "pt")
KIND: Final = "equations"
_LEAST: Final = 1e-16
"""The smallest error that is drawn. Smaller errors are rounding errors of an exact law, and are drawn at this value."""


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`)."""
    usable = [result for result in results if has(result, "best_calls", "best")]
    for group in group_runs(usable, KIND):
        n = len({result.problem for result in group.results})
        yield Picture(
            f"{NAME}_{group.suffix}",
            f"Equations, {group.words}. Geometric mean of the smallest error so far on the fitted data (the mean "
            f"squared error over the variance of the target); {n} problem{'s' * (n > 1)}. "
            f"{describe_runs(group.results)}. "
            f"Bands: {WHAT} of the logarithm, within problems; a single seed has none. A run that ended early keeps "
            "its last value.",
            partial(draw, group.results),
            describe_runs(group.results, BANDS),
        )


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with one panel for each field of science."""
    about = sciences_of(results)
    figure = new_figure(min(PAGE, 1.7 * len(about) + 1.7), 2.2)
    for axes, science in zip(figure.subplots(1, len(about), squeeze=False)[0], about, strict=True):
        some = [result for result in results if science_of(result) == science]
        problems = {result.problem for result in some}
        bands = record_bands(some, "best_calls", "best", _log_error, lambda result: result.problem)
        use_powers(axes)
        draw_bands(axes, bands, lambda powers: np.power(10.0, powers), steps=True)
        fit_log_axis(axes, bands)
        axes.set_xlim(0, budget_of(some) * 1.01)
        axes.set_title(f"{shorten(science, 20)}, {len(problems)} problem{'s' * (len(problems) > 1)}")
        axes.set_xlabel("oracle calls")
        if science == about[0]:
            axes.set_ylabel("best error (NMSE, fitted data)")
    add_legend(figure, legend_of([result.run.method for result in results]))
    return figure


def science_of(result: Result) -> str:
    """Return the field of science that a run's problem comes from; ``own data`` if the problem has none."""
    return result.science or "own data"


def sciences_of(results: Sequence[Result]) -> list[str]:
    """Return the sciences of some runs: those of the paper in its order, then others by name."""
    sciences = {science_of(result) for result in results}
    return [*(name for name in SCIENCES if name in sciences), *sorted(sciences - {*SCIENCES})]


def _log_error(score: float) -> float:
    """Return the decimal logarithm of an error, given the score of an equation, which is the negative error."""
    return log10(max(-score, _LEAST))


FIGURE: Final = FigureKind(
    NAME,
    "The best error by calls",
    find,
    "fig:sr-score-trajectory",
    Wanted(("equation",), METHODS, ("DeepSeek-V3.2", "GPT-5"), SCIENCES, "bfgs", EQUATIONS),
)
