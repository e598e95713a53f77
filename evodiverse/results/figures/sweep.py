"""Figure ``sweep``: heat maps of sweeps over one or two settings."""

from collections.abc import Iterator, Sequence
from math import isfinite, log10
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from evodiverse.results.figures import reading, style
from evodiverse.results.figures.reading import Context, Group, Headline, Result
from evodiverse.results.grouping import group_by, sort_values

_AXES: Final = ["column", "row"]
_MOST_VALUES: Final = 20
_LEAST_SPAN: Final = 4  # the least range of the color scale, in standard deviations of runs within cells


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
            grid = make_grid(some, keys, some[0].headlines[0])
            if len(grid.drop_duplicates(_AXES)) > 1:
                names = [*filter(None, [about, method, model, fit, budget])]
                part = "_".join([*names, *filter(None, keys)])
                yield Group(kind, model, fit, budget, (part,), some, context, len(grid), (keys, grid, ", ".join(names)))


def _mean_of(measure: Headline) -> str:
    return "geometric mean" if measure.is_error else "mean"


def describe_grid(group: Group) -> str:
    """Return the part of a caption about what the cells of a grid show."""
    measure, (keys, _, words) = group.best.headlines[0], group.detail
    return f"{words}: {measure.words} by {' and '.join(filter(None, keys))}, {_mean_of(measure)} over runs"


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


def make_grid(results: Sequence[Result], keys: tuple[str, str | None], measure: Headline) -> pd.DataFrame:
    """Return a metric of each run (the column ``value``; for an error, its decimal logarithm) and the run's settings.

    The settings in ``keys`` are the columns ``column`` and ``row``, as categories in sorted order. A run does not count
    if any other setting, except the budget, differs from its default. Only the first `_MOST_VALUES` values of each
    setting are kept.

    Args:
        results: The runs of one task, method and model.
        keys: The settings of the columns and of the rows, as `find_keys` returns them.
        measure: The metric. Runs without it, or with an infinite value, do not count.
    """
    from evodiverse.runlog.runs import write_setting  # here because it loads much of EvoDiverse

    counted = []
    for result in results:
        number = result.number(measure.metric)
        is_other = any(key not in keys and not reading.is_budget(key) for key in result.overrides)
        if is_other or number is None or not isfinite(number):
            continue
        settings = ["" if key is None else write_setting(result.run.settings.get(key)) for key in keys]
        counted.append((*settings, log10(max(number, reading.LEAST)) if measure.is_error else number))
    grid = pd.DataFrame(counted, columns=[*_AXES, "value"])
    for axis in _AXES:
        grid[axis] = pd.Categorical(grid[axis], sort_values(grid[axis])[:_MOST_VALUES])
    return grid.dropna()


def pool_deviations(grid: pd.DataFrame) -> float:
    """Return the standard deviation of results within cells, pooled over all cells; 0 if each has a single run."""
    cells = grid.groupby(_AXES, observed=True)["value"]
    freedom = len(grid) - cells.ngroups
    return float((((grid["value"] - cells.transform("mean")) ** 2).sum() / freedom) ** 0.5) if freedom else 0.0


def _write(mean: float, deviation: float, measure: Headline) -> str:
    """Return the mean of a cell and, if it has several runs, their standard deviation: a factor for an error."""
    if measure.is_error:
        return f"{10**mean:.1e}" + (f" ×÷ {10**deviation:.2g}" if isfinite(deviation) else "")
    return f"{mean:.3f}" + (f" ± {deviation:.3f}" if isfinite(deviation) else "")


def draw(group: Group) -> Figure:
    """Return the heat map of a grid, with the mean, the standard deviation and the number of runs in each cell."""
    measure, (keys, grid, _) = group.best.headlines[0], group.detail
    cells = grid.groupby(_AXES, observed=True)["value"].agg(["mean", "std", "count"])
    means = cells["mean"].unstack("column")
    goodness = -means if measure.is_error else means
    n_rows, n_columns = means.shape
    figure = style.new_figure(min(style.PAGE, max(style.COLUMN, 1.5 + 0.85 * n_columns)), 1.1 + 0.42 * n_rows)
    axes = figure.subplots()
    # The scale spans the spread of runs within cells, so that cells which differ by less are of nearly one color.
    least, most = np.nanmin(goodness), np.nanmax(goodness)
    middle, half = (least + most) / 2, max(most - least, _LEAST_SPAN * pool_deviations(grid)) / 2
    low, high = middle - half, middle + half
    axes.set_facecolor(style.PALE)
    axes.imshow(goodness, cmap="cividis", vmin=low, vmax=high if high > low else low + 1, aspect="auto")
    for (column, row), cell in cells.iterrows():
        share = (goodness.loc[row, column] - low) / (high - low) if high > low else 0.0
        text = f"{_write(cell['mean'], cell['std'], measure)}\n({cell['count']:.0f})"
        place, color = (means.columns.get_loc(column), means.index.get_loc(row)), "black" if share > 0.55 else "white"
        axes.text(*place, text, ha="center", va="center", fontsize=5.5, color=color)
    rotation = 30 * (n_columns > 5)
    axes.set_xticks(range(n_columns), [style.shorten(text, 14) for text in means.columns], rotation=rotation)
    axes.set_yticks(range(n_rows), [style.shorten(text, 18) for text in means.index])
    axes.set_xlabel(style.shorten(keys[0], 50))
    axes.set_ylabel("" if keys[1] is None else style.shorten(keys[1], 30))
    axes.set_title(f"{_mean_of(measure)} of {measure.words}")
    return figure
