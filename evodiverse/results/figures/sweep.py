"""Figure ``sweep``: heat maps of sweeps over one or two settings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log10
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.figure import Figure

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import Context, Group, Result
from evodiverse.results.grouping import group_by, sort_values

if TYPE_CHECKING:
    from evodiverse.ports import Headline  # loads much of EvoDiverse
else:
    Headline = Any

_MOST_VALUES: Final = 20
_LEAST_SPAN: Final = 4  # the least range of the color scale, in standard deviations of runs within cells


@dataclass(frozen=True, slots=True)
class Grid:
    """The results of runs for each combination of values of one or two settings.

    Attributes:
        keys: The keys of two settings: the first varies over the columns, the second over the rows. The second is None
            if there is a single setting.
        columns: The values of the first setting as text, sorted.
        rows: The values of the second setting as text, sorted.
        cells: The results of the runs for each (column, row) with runs; for an error, its decimal logarithms.
    """

    keys: tuple[str, str | None]
    columns: Sequence[str]
    rows: Sequence[str]
    cells: Mapping[tuple[str, str], Sequence[float]]


def find(results: Sequence[Result], context: Context) -> Iterator[Group]:
    """Yield a grid per task, method, model, fit and budget, and per setting or pair of settings that runs change.

    For equations, there is one grid per science instead of per task, or per problem if the problem has no science. A
    grid of a single cell is left out.
    """
    from evodiverse.results.tables.results import show_overrides  # here because it loads much of EvoDiverse

    def describe(run: Result) -> tuple[str, ...]:
        about = run.science or run.problem or run.task
        budget = show_overrides({key: value for key, value in run.overrides.items() if reading.is_budget(key)})
        return run.kind, about, run.run.method, run.model, run.fit or "", budget

    usable = [run for run in results if run.fit != reading.OWN_FIT]
    for (kind, about, method, model, fit, budget), some in sorted(group_by(usable, describe).items()):
        for keys in find_keys(some):
            grid = make_grid(some, keys, _measure_of(some))
            if len(grid.cells) > 1:
                names = [*filter(None, [about, method, model, fit, budget])]
                part, n = "_".join([*names, *filter(None, keys)]), sum(map(len, grid.cells.values()))
                yield Group(kind, model, fit, budget, (part,), some, context, n, (grid, ", ".join(names)))


def _measure_of(results: Sequence[Result]) -> Headline:
    """Return the metric that a heat map shows."""
    headline: Headline = results[0].headlines[0]
    return headline


def _mean_of(measure: Headline) -> str:
    return "geometric mean" if measure.is_error else "mean"


def describe_grid(group: Group) -> str:
    """Return the part of a caption about what the cells of a grid show."""
    measure, (grid, words) = _measure_of(group.results), group.detail
    return f"{words}: {measure.words} by {' and '.join(filter(None, grid.keys))}, {_mean_of(measure)} over runs"


def find_keys(results: Sequence[Result]) -> list[tuple[str, str | None]]:
    """Return the keys of the settings that each heat map varies: a pair of settings, or a single setting and None.

    A pair is varied if some run changes exactly these two settings from the defaults, and a single setting if some run
    changes only this one. The pairs come first. A single setting that is in a pair is left out, since the heat map of
    the pair shows its runs as well.

    Args:
        results: Runs with the same budget. The budget does not count as a difference.
    """
    sets = {frozenset(key for key in result.overrides if not reading.is_budget(key)) for result in results}
    pairs = sorted({tuple(sorted(keys)) for keys in sets if len(keys) == 2})
    in_pairs = {key for pair in pairs for key in pair}
    singles = sorted({key for keys in sets if len(keys) == 1 for key in keys} - in_pairs)
    return [*((one, other) for one, other in pairs), *((key, None) for key in singles)]


def make_grid(results: Sequence[Result], keys: tuple[str, str | None], measure: Headline) -> Grid:
    """Return the mean of a metric over runs for each combination of values of the settings in ``keys``.

    A run does not count if any other setting, except the budget, differs from its default. Only the first
    `_MOST_VALUES` values of each setting are kept.

    Args:
        results: The runs of one task, method and model.
        keys: The settings of the columns and of the rows, as `find_keys` returns them.
        measure: The metric to average. Runs without this metric, or with an infinite value, do not count.
    """
    from evodiverse.runlog.runs import write_setting  # here because it loads much of EvoDiverse

    cells: dict[tuple[str, str], list[float]] = defaultdict(list)
    for result in results:
        number = result.number(measure.metric)
        is_other = any(key not in keys and not reading.is_budget(key) for key in result.overrides)
        if is_other or number is None or not isfinite(number):
            continue
        column, row = ("" if key is None else write_setting(result.run.settings.get(key)) for key in keys)
        cells[column, row].append(log10(max(number, reading.LEAST)) if measure.is_error else number)
    columns, rows = (sort_values(values)[:_MOST_VALUES] for values in (zip(*cells, strict=True) if cells else ((), ())))
    shown = {place: some for place, some in cells.items() if place[0] in columns and place[1] in rows}
    return Grid(keys, columns, rows, shown)


def pool_deviations(grid: Grid) -> float:
    """Return the standard deviation of results within cells, pooled over all cells; 0 if each has a single run."""
    squares = sum((value - fmean(some)) ** 2 for some in grid.cells.values() for value in some)
    freedom = sum(len(some) - 1 for some in grid.cells.values())
    return float((squares / freedom) ** 0.5) if freedom else 0.0


def _write(results: Sequence[float], measure: Headline) -> str:
    """Return the mean of a cell and, if it has several runs, their standard deviation: a factor for an error."""
    mean, deviation = fmean(results), stdev(results) if len(results) > 1 else None
    if measure.is_error:
        return f"{10**mean:.1e}" + ("" if deviation is None else f" ×÷ {10**deviation:.2g}")
    return f"{mean:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


def draw(group: Group) -> Figure:
    """Return the heat map of a grid, with the mean, the standard deviation and the number of runs in each cell."""
    measure, (grid, _) = _measure_of(group.results), group.detail
    n_columns, n_rows = len(grid.columns), len(grid.rows)
    figure = style.new_figure(min(style.PAGE, max(style.COLUMN, 1.5 + 0.85 * n_columns)), 1.1 + 0.42 * n_rows)
    axes = figure.subplots()
    goodness = np.full((n_rows, n_columns), np.nan)
    for column, row in grid.cells:
        mean = fmean(grid.cells[column, row])
        goodness[grid.rows.index(row), grid.columns.index(column)] = -mean if measure.is_error else mean
    # The scale spans the spread of runs within cells, so that cells which differ by less are of nearly one color.
    middle, spread = (np.nanmin(goodness) + np.nanmax(goodness)) / 2, pool_deviations(grid)
    half = max(float(np.ptp(goodness[np.isfinite(goodness)])), _LEAST_SPAN * spread) / 2
    low, high = middle - half, middle + half
    axes.set_facecolor(style.PALE)
    axes.imshow(goodness, cmap="cividis", vmin=low, vmax=high if high > low else low + 1, aspect="auto")
    for (column, row), some in grid.cells.items():
        x, y = grid.columns.index(column), grid.rows.index(row)
        share = (goodness[y, x] - low) / (high - low) if high > low else 0.0
        text = _write(some, measure)
        color = "black" if share > 0.55 else "white"
        axes.text(x, y, f"{text}\n({len(some)})", ha="center", va="center", fontsize=5.5, color=color)
    axes.set_xticks(range(n_columns), [style.shorten(text, 14) for text in grid.columns], rotation=30 * (n_columns > 5))
    axes.set_yticks(range(n_rows), [style.shorten(text, 18) for text in grid.rows])
    axes.set_xlabel(style.shorten(grid.keys[0], 50))
    axes.set_ylabel("" if grid.keys[1] is None else style.shorten(grid.keys[1], 30))
    axes.set_title(f"{_mean_of(measure)} of {measure.words}")
    return figure
