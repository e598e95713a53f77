"""Curves against oracle calls: a line for the mean of each method's runs and a band for its 95% confidence interval."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from evodiverse.results.figures.intervals import Band, make_band, make_iteration_band
from evodiverse.results.figures.reading import budget_of, by_method, curve, has, numbers
from evodiverse.results.figures.style import INK, look_of, order_methods, use_counts
from evodiverse.results.tables.results import Result

_BANDS_SHARE = 0.4  # the opacity of all bands together where they overlap
_MOST_SHARE = 0.18
_MARGIN = 0.08


def record_bands(
    results: Sequence[Result],
    x: str,
    y: str,
    change: Callable[[float], float] = lambda value: value,
    stratum: Callable[[Result], Hashable] = lambda _: 0,
) -> dict[str, Band]:
    """Return, by method, the mean over runs of the best value so far, with its interval, as a curve over oracle calls.

    A run sets a record when a value is better than all earlier ones; the record holds until the next one. The methods
    are sorted as in the legends of figures (see `order_methods`). Methods without records are left out.

    Args:
        results: The runs, at least one.
        x: The name of the curve with the calls that set the records, such as "best_calls".
        y: The name of the curve with the records, such as "best".
        change: A function applied to each record before averaging, for example the logarithm.
        stratum: A function that is called with each run and returns its problem, needed to average over problems as
            `estimate` does.
    """
    end = budget_of(results)
    return {
        method: make_band(
            [(numbers(curve(run, x)), [change(value) for value in numbers(curve(run, y))]) for run in some],
            [stratum(run) for run in some],
            end,
        )
        for method, some in _with_curves(results, x, y)
    }


def iteration_bands(results: Sequence[Result], name: str) -> dict[str, Band]:
    """Return, by method, the mean over runs of a curve with one value per iteration, with its 95% confidence interval.

    The methods are sorted as in the legends of figures (see `order_methods`). Methods without the curve named ``name``
    are left out.
    """
    return {
        method: make_iteration_band([(numbers(curve(run, "calls")), curve(run, name)) for run in some])
        for method, some in _with_curves(results, "calls", name)
    }


def _with_curves(results: Sequence[Result], *names: str) -> list[tuple[str, list[Result]]]:
    grouped = by_method([result for result in results if has(result, *names)])
    return [(method, grouped[method]) for method in order_methods([*grouped])]


def draw_bands(
    axes: Axes, bands: Mapping[str, Band], change: Callable[..., object] = lambda value: value, *, steps: bool
) -> None:
    """Draw a line and a band for each method.

    Args:
        axes: The panel to draw in.
        bands: The band of each method.
        change: A function applied to means and bounds before they are drawn, for example the inverse of the logarithm.
        steps: Whether a value holds until the next one. Otherwise, straight lines join the points.
    """
    how: Literal["post"] | None = "post" if steps else None
    share = min(_MOST_SHARE, _BANDS_SHARE / max(1, len(bands)))
    for method, band in bands.items():
        look = look_of(method)
        x, mean, low, high = band.x, *(np.asarray(change(each)) for each in (band.mean, band.low, band.high))
        axes.fill_between(x, low, high, step=how, color=look.color, alpha=share, linewidth=0)
        axes.plot(
            *(x, mean),
            drawstyle="steps-post" if steps else "default",
            color=look.color,
            linestyle=look.dash,
            linewidth=1.4,
            marker=look.marker,
            markersize=3.2,
            markevery=max(1, len(x) // 6),
            label=look.label,
        )
    axes.margins(x=0.01)
    use_counts(axes)


def fit_axis(axes: Axes, bands: Mapping[str, Band], least: float | None = None, most: float | None = None) -> None:
    """Make the vertical axis span all lines, with a margin above and below.

    Parts of bands outside this range are cut off.

    Args:
        axes: The panel.
        bands: The band of each method.
        least: The value below which the axis does not extend; None for no limit. Means below it are ignored, unless all
            are below it.
        most: The value above which the axis does not extend; None for no limit.
    """
    means = [band.mean[np.isfinite(band.mean)] for band in bands.values()]
    values = np.concatenate(means) if means else np.array([])
    if not len(values):
        return
    near = values if least is None or not (values >= least).any() else values[values >= least]
    low, high = float(near.min()), float(near.max())
    room = (high - low) * _MARGIN or 0.05 * abs(high) or 0.05
    bottom, top = low - 2 * room, high + 2 * room
    axes.set_ylim(bottom if least is None else max(least, bottom), top if most is None else min(most, top))


def fit_log_axis(axes: Axes, bands: Mapping[str, Band]) -> None:
    """Make a logarithmic axis span all lines.

    Args:
        axes: The panel.
        bands: The band of each method, with means that are decimal logarithms of the values.
    """
    values = np.concatenate([band.mean[np.isfinite(band.mean)] for band in bands.values()])
    low, high = float(values.min()), float(values.max())
    room = 0.08 * (high - low) + 0.15
    axes.set_ylim(10 ** (low - room), 10 ** (high + room))


def legend_of(methods: Sequence[str]) -> list[tuple[Line2D, str]]:
    """Return the entries of a legend for methods, each with its line and text."""
    entries = []
    for method in order_methods(methods):
        look = look_of(method)
        line = Line2D([], [], color=look.color, linestyle=look.dash, marker=look.marker, markersize=3.5, linewidth=1.4)
        entries.append((line, look.label))
    return entries


def say_nothing(axes: Axes, text: str = "no runs yet") -> None:
    """Write into an empty panel that there are no runs."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=INK, alpha=0.6)
    axes.set_xticks([])
    axes.set_yticks([])
