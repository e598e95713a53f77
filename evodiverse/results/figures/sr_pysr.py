"""Figure ``sr-pysr``: accuracy and error compared with PySR and similar programs (paper, "Additional Results")."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isfinite, log10
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from evodiverse.results.figures.diagnostics import EQUATIONS, SCIENCES
from evodiverse.results.figures.intervals import WHAT, WHISKERS, Estimate, estimate
from evodiverse.results.figures.reading import (
    OWN_FIT,
    Context,
    FigureKind,
    Picture,
    Wanted,
    by_method,
    describe_runs,
    group_runs,
)
from evodiverse.results.figures.sr_score_trajectory import KIND, METHODS, science_of, sciences_of
from evodiverse.results.figures.style import (
    INK,
    PAGE,
    add_legend,
    look_of,
    new_figure,
    order_methods,
    shorten,
    use_powers,
)
from evodiverse.results.tables.results import Result

NAME: Final = "sr-pysr"
ERROR: Final = "best_nmse"
ACCURACY: Final = "best_acc"
_LEAST: Final = 1e-16


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`).

    Each also shows all baselines, which are runs of other programs such as PySR.
    """
    engines = [result for result in results if result.kind == KIND and result.fit == OWN_FIT]
    for group in group_runs(results, KIND):
        together = keep_common([*group.results, *engines])
        if together:
            n = len({result.problem for result in together})
            yield Picture(
                f"{NAME}_{group.suffix}",
                f"Equations, {group.words}, and baselines, on the {n} problem{'s' * (n > 1)} on which all of them have "
                "runs. Both panels are about the equation with the smallest error on the fitted data. Left: geometric "
                "mean of its NMSE on held-out data of the same domain; right: Acc0.1, the share of runs in which all "
                f"its predictions there are within 10%. {describe_runs(together)}. Whiskers: {WHAT}, within problems; "
                "∞: a prediction is not a number.",
                partial(draw, together),
                describe_runs(together, WHISKERS),
            )


def keep_common(results: Sequence[Result]) -> list[Result]:
    """Return the runs on those problems for which all methods have runs.

    This is decided separately for each science, which is a group of problems, such as "physics". A method that has no
    runs on a science is ignored for that science.
    """
    kept = []
    for science in sciences_of(results):
        own = [result for result in results if science_of(result) == science]
        common = set.intersection(*({run.problem for run in some} for some in by_method(own).values()))
        kept += [result for result in own if result.problem in common]
    return kept


def summarize(
    results: Sequence[Result], metric: str, change: Callable[[float], float] = lambda value: value
) -> Estimate | None:
    """Return the mean of a metric over runs; None if no run has the metric or any value is not finite.

    Args:
        results: The runs.
        metric: The name of the metric.
        change: A function applied to each value before averaging, for example the logarithm.
    """
    known = [(value, run.problem) for run in results if isinstance(value := run.metrics.get(metric), int | float)]
    if not known or not all(isfinite(value) for value, _ in known):
        return None
    return estimate([change(value) for value, _ in known], [problem for _, problem in known])


def draw(results: Sequence[Result]) -> Figure:
    """Return a figure with two panels. Each has a group of bars for each science, with one bar for each method."""
    figure = new_figure(PAGE, 2.5)
    left, right = figure.subplots(1, 2)
    use_powers(left)
    _draw_bars(left, results, ERROR, lambda value: log10(max(value, _LEAST)), lambda power: 10.0**power)
    _draw_bars(right, results, ACCURACY)
    left.set_ylabel("NMSE, held out (lower is better)")
    right.set_ylabel("Acc0.1, held out (share of runs)")
    right.set_ylim(0, 1.05)
    methods = order_methods([result.run.method for result in results])
    add_legend(figure, [(_patch(method), look_of(method).label) for method in methods], 5)
    return figure


def _draw_bars(
    axes: Axes,
    results: Sequence[Result],
    metric: str,
    change: Callable[[float], float] = lambda value: value,
    back: Callable[[float], float] = lambda value: value,
) -> None:
    about = sciences_of(results)
    methods = order_methods([result.run.method for result in results])
    width = 0.8 / len(methods)
    estimates = {
        (science, method): summarize(
            [run for run in results if (science_of(run), run.run.method) == (science, method)], metric, change
        )
        for science in about
        for method in methods
    }
    means = [back(each.mean) for each in estimates.values() if each is not None]
    for (science, method), each in estimates.items():
        x = about.index(science) + (methods.index(method) - (len(methods) - 1) / 2) * width
        if each is None:
            has_runs = any((science_of(run), run.run.method) == (science, method) for run in results)
            axes.annotate("∞" if has_runs else "", (x, 0.02), xycoords=("data", "axes fraction"), ha="center")
            continue
        look = look_of(method)
        axes.bar(x, back(each.mean), width * 0.92, color=look.color, alpha=0.35, linewidth=0)
        axes.bar(
            x, back(each.mean), width * 0.92, facecolor="none", edgecolor=look.color, hatch=look.hatch, linewidth=0.8
        )
        if each.low is not None and each.high is not None:
            axes.vlines(x, back(each.low), back(each.high), color=INK, linewidth=0.8)
    if metric == ERROR and means:
        axes.set_ylim(min(means) / 30, max(means) * 10)
    axes.set_xticks(range(len(about)), [shorten(science, 14) for science in about])
    axes.set_xlim(-0.6, len(about) - 0.4)


def _patch(method: str) -> Patch:
    look = look_of(method)
    return Patch(facecolor=(*_rgb(look.color), 0.35), edgecolor=look.color, hatch=look.hatch, linewidth=0.8)


def _rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return red, green, blue


FIGURE: Final = FigureKind(
    NAME,
    "Comparison with other engines of symbolic regression",
    find,
    "fig:sr-pysr",
    Wanted(
        ("equation",),
        METHODS,
        ("DeepSeek-V3.2", "GPT-5"),
        SCIENCES,
        "bfgs",
        EQUATIONS,
        ("pysr", "operon"),
    ),
)
