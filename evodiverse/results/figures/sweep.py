"""Figure ``sweep``: heat maps of sweeps over one or two settings."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, log10
from statistics import fmean
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from evodiverse.results.figures.reading import OWN_FIT, Context, FigureKind, Picture, is_budget
from evodiverse.results.figures.style import COLUMN, PAGE, PALE, new_figure, shorten
from evodiverse.results.tables.results import Result, show_overrides
from evodiverse.runlog.runs import write_setting
from evodiverse.text import count_of

NAME: Final = "sweep"
_MOST_VALUES: Final = 20
_LEAST: Final = 1e-16


@dataclass(frozen=True, slots=True)
class Measure:
    """The metric that heat maps show for one kind of run, such as runs on molecules.

    Attributes:
        metric: The name of the metric.
        words: The metric in words.
        is_error: Whether the metric is an error, for which lower is better and means are geometric.
    """

    metric: str
    words: str
    is_error: bool = False


MEASURES: Final[Mapping[str, Measure]] = {
    "molecules": Measure("diverse_auc", "diversity-aware Top-10 AUC"),
    "equations": Measure("best_nmse", "NMSE of the best, held out", is_error=True),
    "circle packing": Measure("best_sum", "best sum of radii"),
    "programs": Measure("best_score", "best score"),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """Means over runs for each combination of values of one or two settings.

    Attributes:
        keys: The keys of two settings: the first varies over the columns, the second over the rows. The second is None
            if there is a single setting.
        columns: The values of the first setting as text, sorted.
        rows: The values of the second setting as text, sorted.
        means: The mean for each (column, row) with runs; for an error, the mean of its decimal logarithm.
        counts: The number of runs for each (column, row) with runs.
    """

    keys: tuple[str, str | None]
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    means: Mapping[tuple[str, str], float]
    counts: Mapping[tuple[str, str], int]


def find(results: Sequence[Result], _: Context) -> Iterator[Picture]:
    """Yield one heat map per task, method, model, fit and budget, and per setting or pair of settings that runs change.

    For equations, there is one heat map per science instead of per task, or per problem if the problem has no science.
    A heat map of a single cell is left out.
    """
    groups: dict[tuple[str, ...], list[Result]] = defaultdict(list)
    for result in results:
        if result.kind in MEASURES and result.fit != OWN_FIT:
            about = result.science or result.problem or result.task
            budget = show_overrides({key: result.overrides[key] for key in result.overrides if is_budget(key)})
            groups[result.kind, about, result.run.method, result.model, result.fit or "", budget].append(result)
    for place, some in sorted(groups.items()):
        for keys in find_keys(some):
            grid = make_grid(some, keys, MEASURES[place[0]])
            if len(grid.means) > 1:
                yield _picture(*place, grid=grid)


def _picture(kind: str, *about: str, grid: Grid) -> Picture:
    measure = MEASURES[kind]
    settings = " and ".join(filter(None, grid.keys))
    mean = "geometric mean" if measure.is_error else "mean"
    n = sum(grid.counts.values())
    return Picture(
        "_".join(filter(None, [NAME, *about, *filter(None, grid.keys)])),
        f"{', '.join(filter(None, about))}: {measure.words} by {settings}, {mean} over runs, with their number in "
        f"parentheses; n = {n}. Apart from the budget, no other setting of the search is changed. Lighter is better.",
        partial(draw, grid, measure),
        f"n = {count_of(n, 'run')}; in parentheses, the number of runs in a cell",
    )


def find_keys(results: Sequence[Result]) -> list[tuple[str, str | None]]:
    """Return the keys of the settings that each heat map varies: a pair of settings, or a single setting and None.

    A pair is varied if some run changes exactly these two settings from the defaults, and a single setting if some run
    changes only this one. The pairs come first. A single setting that is in a pair is left out, since the heat map of
    the pair shows its runs as well.

    Args:
        results: Runs with the same budget. The budget does not count as a difference.
    """
    sets = {frozenset(key for key in result.overrides if not is_budget(key)) for result in results}
    pairs = sorted({tuple(sorted(keys)) for keys in sets if len(keys) == 2})
    in_pairs = {key for pair in pairs for key in pair}
    singles = sorted({key for keys in sets if len(keys) == 1 for key in keys} - in_pairs)
    return [*((one, other) for one, other in pairs), *((key, None) for key in singles)]


def make_grid(results: Sequence[Result], keys: tuple[str, str | None], measure: Measure) -> Grid:
    """Return the mean of a metric over runs for each combination of values of the settings in ``keys``.

    A run does not count if any other setting, except the budget, differs from its default. Only the first
    `_MOST_VALUES` values of each setting are kept.

    Args:
        results: The runs of one task, method and model.
        keys: The settings of the columns and of the rows, as `find_keys` returns them.
        measure: The metric to average. Runs without this metric, or with an infinite value, do not count.
    """
    by_place: dict[tuple[str, str], list[float]] = defaultdict(list)
    values: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    for result in results:
        number = result.metrics.get(measure.metric)
        is_other = any(key not in keys and not is_budget(key) for key in result.overrides)
        if is_other or not isinstance(number, int | float) or not isfinite(number):
            continue
        place = tuple(_setting(result, key, seen) for key, seen in zip(keys, values, strict=True))
        by_place[place[0], place[1]].append(log10(max(number, _LEAST)) if measure.is_error else float(number))
    columns, rows = (tuple(sorted(seen, key=lambda text: _order(seen[text], text)))[:_MOST_VALUES] for seen in values)
    shown = {place: some for place, some in by_place.items() if place[0] in columns and place[1] in rows}
    means = {place: fmean(some) for place, some in shown.items()}
    return Grid(keys, columns, rows, means, {place: len(some) for place, some in shown.items()})


def _setting(result: Result, key: str | None, seen: dict[str, Any]) -> str:
    value = None if key is None else result.run.settings.get(key)
    text = "" if key is None else write_setting(value)
    seen[text] = value
    return text


def _order(value: Any, text: str) -> tuple[int, Any]:
    """Return the sort key of a value: numbers by size, then lists and words by their text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value)) if is_number else (1, text)


def draw(grid: Grid, measure: Measure) -> Figure:
    """Return the heat map, with the mean and the number of runs in each cell."""
    n_columns, n_rows = len(grid.columns), len(grid.rows)
    figure = new_figure(min(PAGE, max(COLUMN, 1.5 + 0.62 * n_columns)), 1.1 + 0.42 * n_rows)
    axes = figure.subplots()
    numbers = np.array([[grid.means.get((column, row), np.nan) for column in grid.columns] for row in grid.rows])
    goodness = -numbers if measure.is_error else numbers
    low, high = float(np.nanmin(goodness)), float(np.nanmax(goodness))
    axes.set_facecolor(PALE)
    axes.imshow(goodness, cmap="cividis", vmin=low, vmax=high if high > low else low + 1, aspect="auto")
    for (row, column), number in np.ndenumerate(numbers):
        if np.isnan(number):
            continue
        share = (goodness[row, column] - low) / (high - low) if high > low else 0.0
        text = f"{10**number:.1e}" if measure.is_error else f"{number:.3f}"
        count = grid.counts[grid.columns[column], grid.rows[row]]
        color = "black" if share > 0.55 else "white"
        axes.text(column, row, f"{text}\n({count})", ha="center", va="center", fontsize=6, color=color)
    axes.set_xticks(range(n_columns), [shorten(text, 14) for text in grid.columns], rotation=30 * (n_columns > 5))
    axes.set_yticks(range(n_rows), [shorten(text, 18) for text in grid.rows])
    axes.set_xlabel(shorten(grid.keys[0], 50))
    axes.set_ylabel("" if grid.keys[1] is None else shorten(grid.keys[1], 30))
    axes.set_title(f"{'geometric mean' if measure.is_error else 'mean'} of {measure.words}")
    return figure


FIGURE: Final = FigureKind(
    NAME,
    "Sweeps over settings",
    find,
    example="evodiverse -m task=circle_packing method=pt llm=off method.swap.period=2,5 method.swap.size=1,2 seed=0,1",
    takes_all=True,
)
