"""Figures ``diagnostic_*``: the powering factor ξ and the swap acceptance rate in each exchange of a run.

An exchange takes place every few iterations. It attempts swaps of candidates between neighboring pools. The powering
factor ξ multiplies the inverse temperatures β of the pools: the larger ξ is, the fewer swaps are accepted.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evodiverse.results.figures.intervals import BANDS, WHAT, make_band
from evodiverse.results.figures.molecule_panels import MOLECULES, TARGETS, name_of
from evodiverse.results.figures.reading import (
    Context,
    FigureKind,
    Group,
    Picture,
    Wanted,
    by_method,
    curve,
    describe_runs,
    group_runs,
    has,
    numbers,
)
from evodiverse.results.figures.style import INK, PAGE, add_legend, new_figure, shorten, use_counts
from evodiverse.results.tables.results import Result

SCIENCES: Final = ("physics", "biology", "chemistry", "materials")
EQUATIONS: Final = "evodiverse.tasks.equations"
_EXCHANGES: Final = "exchanges"
_TARGET_BAND: Final = (0.3, 0.4)
_LINES: Final = (("#009e73", "-", "o"), ("#0072b2", (0, (4, 1.5)), "s"), ("#d55e00", (0, (1, 1)), "^"))


def find_diagnostics(
    name: str, kind: str, panel_of: Callable[[Result], str], results: Sequence[Result], _: Context
) -> Iterator[Picture]:
    """Yield one figure per group of runs (see `group_runs`) and method.

    Runs without swaps between pools are left out, and so are runs whose swaps do not depend on ξ, the factor in the
    exponent of the swap probability. The larger ξ is, the fewer swaps are accepted.

    Args:
        name: The name of the figure.
        kind: The kind of runs that the figure shows (`Result.kind`), such as "molecules".
        panel_of: A function that is called with each run and returns the title of the column of panels that shows it.
        results: The runs.
    """
    adaptive = [result for result in results if has(result, _EXCHANGES) and _has_xi(result)]
    for group in group_runs(adaptive, kind):
        for method, some in sorted(by_method(group.results).items()):
            own = "" if method == "pt" else f"_{method}"
            yield Picture(
                f"{name}_{group.suffix}{own}",
                _caption(method, group, some),
                partial(draw, some, panel_of),
                describe_runs(some, BANDS),
            )


def _has_xi(result: Result) -> bool:
    return any(value for value in curve(result, "xi.0"))


def _caption(method: str, group: Group, results: Sequence[Result]) -> str:
    return (
        f"Diagnostics of {method}, {group.words}. Top: the powering factor ξ in each exchange. Bottom: the share of "
        f"the unblocked swaps that were accepted; shaded: {_TARGET_BAND[0]:.0%} to {_TARGET_BAND[1]:.0%}, where the "
        f"paper's curves settle. {describe_runs(results)}. Bands: {WHAT} (within problems); a single seed has none."
    )


def draw(results: Sequence[Result], panel_of: Callable[[Result], str]) -> Figure:
    """Return a figure with columns of two panels: ξ on top, and below it the share of swaps that were accepted.

    ξ is a factor in the exponent of the swap probability; the larger it is, the fewer swaps are accepted. Each panel
    has one line per pair of neighboring pools.

    Args:
        results: The runs.
        panel_of: A function that is called with each run and returns the title of the column of panels that shows it.
    """
    about = sorted({panel_of(result) for result in results})
    figure = new_figure(min(PAGE, 1.6 + 1.75 * len(about)), 3.4)
    axes = figure.subplots(2, len(about), squeeze=False, sharex="col")
    n_pairs = max(_count_pairs(result) for result in results)
    for (top, bottom), name in zip(axes.T, about, strict=True):
        some = [result for result in results if panel_of(result) == name]
        top.set_title(shorten(name, 26))
        bottom.axhspan(*_TARGET_BAND, color=INK, alpha=0.08, linewidth=0)
        for pair in range(n_pairs):
            _draw_pair(top, some, "xi", pair)
            _draw_pair(bottom, some, "swap_acceptance", pair)
        bottom.set_ylim(-0.03, 1.03)
        bottom.set_xlabel("iteration")
        use_counts(bottom)
        top.set_ylim(0, 1.08 * top.get_ylim()[1])
    axes[0, 0].set_ylabel("powering factor ξ")
    axes[1, 0].set_ylabel("swaps accepted (share)")
    if n_pairs > 1:
        add_legend(figure, [(_line(pair), f"pools {pair} and {pair + 1}") for pair in range(n_pairs)])
    return figure


def _count_pairs(result: Result) -> int:
    return sum(name.startswith("curve.xi.") for name in result.metrics)


def _line(pair: int) -> Line2D:
    color, dash, marker = _LINES[pair % len(_LINES)]
    return Line2D([], [], color=color, linestyle=dash, marker=marker, markersize=3.5, linewidth=1.4)


def _draw_pair(axes: Axes, results: Sequence[Result], name: str, pair: int) -> None:
    own = [result for result in results if has(result, f"{name}.{pair}")]
    if not own:
        return
    curves = [(numbers(curve(result, _EXCHANGES)), curve(result, f"{name}.{pair}")) for result in own]
    band = make_band(curves, [result.problem for result in own])
    color, dash, marker = _LINES[pair % len(_LINES)]
    low, high = (np.clip(each, 0, None) for each in (band.low, band.high))
    axes.fill_between(band.x, low, high, color=color, alpha=0.18, linewidth=0)
    axes.plot(
        *(band.x, band.mean),
        color=color,
        linestyle=dash,
        marker=marker,
        markersize=3,
        markevery=max(1, len(band.x) // 8),
        linewidth=1.3,
    )


def _target(result: Result) -> str:
    return name_of(result.task)


def _science(result: Result) -> str:
    return result.science or "own data"


def _task(result: Result) -> str:
    return result.task


MOL: Final = FigureKind(
    "diagnostic_mol",
    "Swaps of molecule runs",
    partial(find_diagnostics, "diagnostic_mol", MOLECULES, _target),
    "fig:diagnostic_mol",
    Wanted(tuple(TARGETS), ("pt",), ("DeepSeek-V3.2",)),
)
EQ: Final = FigureKind(
    "diagnostic_eq",
    "Swaps of equation runs",
    partial(find_diagnostics, "diagnostic_eq", "equations", _science),
    "fig:diagnostic_eq",
    Wanted(("equation",), ("pt",), ("DeepSeek-V3.2", "GPT-5"), SCIENCES, "bfgs", EQUATIONS),
)
ALGO: Final = FigureKind(
    "diagnostic_algo",
    "Swaps of circle-packing runs",
    partial(find_diagnostics, "diagnostic_algo", "circle packing", _task),
    "fig:diagnostic_algo",
    Wanted(("circle_packing",), ("pt",), ("DeepSeek-V3.2",)),
)
