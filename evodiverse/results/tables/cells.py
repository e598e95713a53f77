"""Filled tables, and their cells, which are computed from the metrics of runs."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import exp, inf, isinf, log
from statistics import fmean, median, median_high, stdev
from typing import Final

from evodiverse.results.grouping import group_by
from evodiverse.results.statistics import bootstrap_interval, paired_t, permutation_p, t_interval, two_sided_p
from evodiverse.results.tables.layout import Column
from evodiverse.results.tables.results import Result

DASH: Final = "—"
RUNS: Final = "runs"
"""The title above the numbers of runs, in tables whose rows show them."""
# The format of a number in each style; the others show the column's number of decimals.
_FORMATS: Final = {"scientific": "{:.1e}", "precise": "{:.6g}", "significant": "{:.3g}", "percent": "{:,.{digits}f}%"}


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: The text that is shown; a dash if the cell is empty.
        mean: The mean that the cell shows, with or without an interval. None for an empty cell, a cell that shows
            several metrics, and a number that was not computed from runs, such as a published value.
        spread: The sample standard deviation over the seeds (n - 1); None if there is none, as for a single seed.
        n_runs: The number of runs behind the cell, of pairs of runs for a test, or of seeds for a sum over tasks.
    """

    text: str = DASH
    mean: float | None = None
    spread: float | None = None
    n_runs: int = 0


EMPTY: Final = Cell()


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a filled table.

    Attributes:
        of: The labels at the start of the row.
        cells: The cells, one per column. They show our results, except in a benchmark's columns for published methods,
            which show published values.
        paper: The value that the paper reports for each cell; None if it reports none. Empty in all tables but the
            paper's.
    """

    of: tuple[str, ...]
    cells: tuple[Cell, ...]
    paper: tuple[str | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A filled table.

    Attributes:
        name: The name of the table's files.
        title: The title of the table.
        head: The titles above the labels of the rows.
        columns: The columns, each with its metric.
        lines: The rows.
        notes: The notes below the table.
        commands: The commands that start the runs for the empty cells.
        label: The label of the table in LaTeX; None for its name.
        is_of_paper: Whether this is a table of the paper.
    """

    name: str
    title: str
    head: tuple[str, ...]
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    commands: tuple[str, ...] = ()
    label: str | None = None
    is_of_paper: bool = False

    @property
    def n_filled(self) -> int:
        """The number of cells that are not empty."""
        return sum(cell.text != DASH for line in self.lines for cell in line.cells)

    @property
    def n_cells(self) -> int:
        """The number of cells of the table, including the empty ones but not the labels of the rows."""
        return sum(len(line.cells) for line in self.lines)


def make_cell(column: Column, results: Iterable[Result]) -> Cell:
    """Return a cell with the mean ± sample standard deviation of a metric over the seeds.

    Several runs of one seed are averaged first. A column with `Column.median` has the median over all runs instead. A
    metric with one value per pool is summarized pool by pool. In the style ``calls``, the cell is that of
    `make_reach_cell`.
    """
    if column.style == "calls":
        return make_reach_cell(column, results)
    known = [(result.run.seed, value) for result in results if (value := result.metrics.get(column.metric)) is not None]
    if not known:
        return EMPTY
    parts = list(zip_longest(*(value if isinstance(value, list) else [value] for _, value in known)))
    seeds = [seed for seed, _ in known]
    summaries = [_summarize(column, [*zip(seeds, part, strict=True)]) for part in parts]
    single = summaries[0] if len(summaries) == 1 else (None, None)
    texts = [_write_spread(column, *summary) for summary in summaries]
    overall = [f"({texts.pop()})"] if column.style == "overall" and len(texts) > 1 else []
    return Cell(" ".join([" / ".join(texts), *overall]), *single, len(known))


def make_reach_cell(column: Column, results: Iterable[Result]) -> Cell:
    """Return a cell with the median number of calls until a score is reached, and how many runs reached it.

    A run that never reached the score counts as one that needs more calls than it made. If the median falls on such a
    run, or between it and another, the cell shows the smallest number of calls that such a run made, as in "over 900".
    """
    measured = [result for result in results if column.metric in result.metrics]
    if not measured:
        return EMPTY
    calls = [inf if (value := result.number(column.metric)) is None else value for result in measured]
    reached = [value for value in calls if not isinf(value)]
    records = [result.run.record for result, value in zip(measured, calls, strict=True) if isinf(value)]
    made = [each.get("totals", {}).get("oracle_calls") or each["settings"]["budget.oracle_calls"] for each in records]
    middle = inf if isinf(median_high(calls)) else median(calls)
    text = f"over {min(made):,}" if isinf(middle) else f"{middle:,.0f}"
    share = f" ({len(reached)} of {len(measured)})" if made else ""
    return Cell(text + share, None if isinf(middle) else middle, None, len(measured))


def make_difference_cell(column: Column, pairs: Sequence[tuple[Result, Result]]) -> Cell:
    """Return a cell with the mean difference within pairs, its 95% t-interval and the two-sided permutation p-value.

    For an error, in the style ``scientific``, the cell has the ratio of the geometric means instead, and pairs with an
    error of 0 are left out. There is no interval and no p-value for a single pair.

    Args:
        column: The column, which names the metric.
        pairs: The results of the two methods that are compared.
    """
    is_ratio = column.style == "scientific"
    known = _read_pairs(column, pairs)
    if is_ratio:
        known = [(log(one), log(other)) for one, other in known if one > 0 and other > 0]
    if not known:
        return EMPTY
    differences = [one - other for one, other in known]

    def write(value: float) -> str:
        return f"{exp(value):.2g}" if is_ratio else f"{value:+.{column.digits}f}"

    mean, low, high = t_interval(differences)
    text = f"×{write(mean)}" if is_ratio else write(mean)
    if len(known) > 1:
        text += f" [{write(low)}, {write(high)}], p = {two_sided_p(differences):.2g}"
    return Cell(text, exp(mean) if is_ratio else mean, None, len(known))


def make_test_cell(column: Column, pairs: Sequence[tuple[Result, Result]]) -> Cell:
    """Return a cell with the result of a test of the differences within pairs: a p-value, or a mean with its interval.

    Args:
        column: The column, which names the metric and the test (`Column.test`).
        pairs: The results of the two methods that are compared, as `pair_up` returns them.
    """
    differences = [one - other for one, other in _read_pairs(column, pairs)]
    if column.test == "bootstrap":
        if (interval := bootstrap_interval(differences)) is None:
            return EMPTY
        mean, low, high = (f"{value:+.{column.digits}f}" for value in interval)
        return Cell(f"{mean} [{low}, {high}]", interval.mean, None, len(differences))
    p = paired_t(differences) if column.test == "t" else permutation_p(differences)
    return EMPTY if p is None else Cell(f"{p:.3f}" if p >= 0.001 else f"{p:.1e}", p, None, len(differences))


def _read_pairs(column: Column, pairs: Iterable[tuple[Result, Result]]) -> list[tuple[float, float]]:
    """Return the values of a metric in pairs of runs that both have one."""
    values = [(one.number(column.metric), other.number(column.metric)) for one, other in pairs]
    return [(one, other) for one, other in values if one is not None and other is not None]


def pair_up(
    ours: Iterable[Result],
    theirs: Iterable[Result],
    key: Callable[[Result], Hashable] = lambda one: (one.task, one.run.seed, one.problem, one.model),
) -> list[tuple[Result, Result]]:
    """Pair each of our results with the one of theirs with the same ``key``; a result without a partner is left out."""
    by_key = {key(other): other for other in theirs}
    return [(one, by_key[key(one)]) for one in ours if key(one) in by_key]


def _summarize(column: Column, values: Iterable[tuple[int, float | None]]) -> tuple[float | None, float | None]:
    """Return the mean and the spread over the seeds; for a column of medians, the median over the runs and None.

    Args:
        column: The column of the cell.
        values: The seed and the value of each run; None for a run without a value.
    """
    known = [(seed, value) for seed, value in values if value is not None]
    if not known:
        return None, None
    if column.median:
        return median(value for _, value in known), None
    means = [fmean(value for _, value in some) for some in group_by(known, lambda pair: pair[0]).values()]
    return (inf, None) if inf in means else (fmean(means), stdev(means) if len(means) > 1 else None)


def _write_spread(column: Column, mean: float | None, spread: float | None) -> str:
    if mean is None:
        return DASH
    if spread is None or (column.style == "setting" and spread == 0):
        return _write(column, mean)
    return f"{_write(column, mean)} ± {_write(column, spread)}"


def _write(column: Column, value: float) -> str:
    return "∞" if isinf(value) else _FORMATS.get(column.style, "{:,.{digits}f}").format(value, digits=column.digits)
