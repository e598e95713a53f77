"""Cells of tables, computed from the metrics of runs."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import exp, inf, isinf, log
from statistics import fmean, median, median_high, stdev
from typing import Final, TypeGuard

from evodiverse.results.statistics import bootstrap_interval, paired_t, permutation_p, t_interval, two_sided_p
from evodiverse.results.tables.layout import Column
from evodiverse.results.tables.results import Result
from evodiverse.runlog.values import Value

DASH: Final = "—"


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


def make_cell(column: Column, results: Sequence[Result]) -> Cell:
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
    parts = list(zip_longest(*(_as_list(value) for _, value in known)))
    seeds = [seed for seed, _ in known]
    summaries = [_summarize(column, [*zip(seeds, part, strict=True)]) for part in parts]
    single = summaries[0] if len(summaries) == 1 else (None, None)
    return Cell(_join(column, [_write_spread(column, *summary) for summary in summaries]), *single, len(known))


def make_reach_cell(column: Column, results: Sequence[Result]) -> Cell:
    """Return a cell with the median number of calls until a score is reached, and how many runs reached it.

    A run that never reached the score counts as one that needs more calls than it made. If the median falls on such a
    run, or between it and another, the cell shows the smallest number of calls that such a run made, as in "over 900".
    """
    measured = [result for result in results if column.metric in result.metrics]
    if not measured:
        return EMPTY
    calls = [inf if (value := result.metrics[column.metric]) is None else float(str(value)) for result in measured]
    reached = [value for value in calls if not isinf(value)]
    made = [_calls_made(result) for result, value in zip(measured, calls, strict=True) if isinf(value)]
    middle = inf if isinf(median_high(calls)) else median(calls)
    text = f"over {min(made):,}" if isinf(middle) else f"{middle:,.0f}"
    share = f" ({len(reached)} of {len(measured)})" if made else ""
    return Cell(text + share, None if isinf(middle) else middle, None, len(measured))


def _calls_made(result: Result) -> int:
    totals = result.run.record.get("totals", {})
    return int(totals.get("oracle_calls") or result.run.settings["budget.oracle_calls"])


def make_difference_cell(column: Column, pairs: Sequence[tuple[Result, Result]]) -> Cell:
    """Return a cell with the mean difference within pairs, its 95% t-interval and the two-sided permutation p-value.

    For an error, in the style ``scientific``, the cell has the ratio of the geometric means instead, and pairs with an
    error of 0 are left out. There is no interval and no p-value for a single pair.

    Args:
        column: The column, which names the metric.
        pairs: The results of the two methods that are compared.
    """
    is_ratio = column.style == "scientific"
    values = [(one.metrics.get(column.metric), other.metrics.get(column.metric)) for one, other in pairs]
    known = [(float(one), float(other)) for one, other in values if _is_number(one) and _is_number(other)]
    if is_ratio:
        known = [(log(one), log(other)) for one, other in known if one > 0 and other > 0]
    if not known:
        return EMPTY
    ours, theirs = zip(*known, strict=True)

    def write(value: float) -> str:
        return f"{exp(value):.2g}" if is_ratio else f"{value:+.{column.digits}f}"

    mean, low, high = t_interval(ours, theirs)
    text = f"×{write(mean)}" if is_ratio else write(mean)
    if len(known) > 1:
        text += f" [{write(low)}, {write(high)}], p = {two_sided_p(ours, theirs):.2g}"
    return Cell(text, exp(mean) if is_ratio else mean, None, len(known))


def _is_number(value: Value) -> TypeGuard[float]:
    return isinstance(value, float | int)


def make_test_cell(column: Column, pairs: Sequence[tuple[Result, Result]]) -> Cell:
    """Return a cell with the result of a test of the differences within pairs: a p-value, or a mean with its interval.

    Args:
        column: The column, which names the metric and the test (`Column.test`).
        pairs: The results of the two methods that are compared, as `pair_up` returns them.
    """
    values = [(one.metrics.get(column.metric), other.metrics.get(column.metric)) for one, other in pairs]
    known = [(one, other) for one, other in values if _is_number(one) and _is_number(other)]
    ours, theirs = [float(one) for one, _ in known], [float(other) for _, other in known]
    if column.test == "bootstrap":
        interval = bootstrap_interval(ours, theirs)
        if interval is None:
            return EMPTY
        mean, low, high = (f"{value:+.{column.digits}f}" for value in (interval.mean, interval.low, interval.high))
        return Cell(f"{mean} [{low}, {high}]", interval.mean, None, len(known))
    tests: dict[str | None, Callable[..., float | None]] = {"t": paired_t, "permutation": permutation_p}
    p = tests[column.test](ours, theirs)
    if p is None:
        return EMPTY
    return Cell(f"{p:.3f}" if p >= 0.001 else f"{p:.1e}", p, None, len(known))


def pair_up(ours: Iterable[Result], theirs: Iterable[Result]) -> list[tuple[Result, Result]]:
    """Pair each of our results with the one of theirs for the same task, seed, problem and model.

    A result without such a partner is left out.
    """
    by_key = {_pair_key(result): result for result in theirs}
    return [(result, by_key[_pair_key(result)]) for result in ours if _pair_key(result) in by_key]


def _pair_key(result: Result) -> tuple[str, int, str | None, str]:
    return result.task, result.run.seed, result.problem, result.model


def _as_list(value: Value) -> list[float | None]:
    return value if isinstance(value, list) else [value]


def _summarize(column: Column, values: Iterable[tuple[int, float | None]]) -> tuple[float | None, float | None]:
    """Return the mean and the spread over the seeds; for a column of medians, the median over the runs and None.

    Args:
        column: The column of the cell.
        values: The seed and the value of each run; None for a run without a value.
    """
    by_seed: dict[int, list[float]] = defaultdict(list)
    for seed, value in values:
        if value is not None:
            by_seed[seed].append(value)
    if not by_seed:
        return None, None
    if column.median:
        return median([value for each in by_seed.values() for value in each]), None
    means = [fmean(each) for each in by_seed.values()]
    if inf in means:
        return inf, None
    return fmean(means), stdev(means) if len(means) > 1 else None


def _write_spread(column: Column, mean: float | None, spread: float | None) -> str:
    if mean is None:
        return DASH
    if spread is None or (column.style == "setting" and spread == 0):
        return _write(column, mean)
    return f"{_write(column, mean)} ± {_write(column, spread)}"


def _write(column: Column, value: float) -> str:
    if isinf(value):
        return "∞"
    if column.style == "scientific":
        return f"{value:.1e}"
    if column.style == "precise":
        return f"{value:.6g}"
    if column.style == "significant":
        return f"{value:.3g}"
    return f"{value:,.{column.digits}f}{'%' if column.style == 'percent' else ''}"


def _join(column: Column, parts: Sequence[str]) -> str:
    """Return the texts of several values as one text, separated by slashes.

    In the style ``overall``, the last value is the mean of the others, and it is in parentheses.
    """
    if column.style == "overall" and len(parts) > 1:
        return f"{' / '.join(parts[:-1])} ({parts[-1]})"
    return " / ".join(parts)
