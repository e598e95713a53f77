"""Tables of mean or median metrics, grouped by the values of one or two settings, regardless of all other settings."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from evodiverse.errors import InputError
from evodiverse.kit.hints import nearest_key
from evodiverse.ports import Headline
from evodiverse.results.grouping import group_by, sort_values
from evodiverse.results.tables.cells import EMPTY, Cell, Line, Table, make_cell, make_difference_cell, pair_up
from evodiverse.results.tables.layout import Column
from evodiverse.results.tables.notes import BUDGET, differing_budgets, note_ends, note_sources, warn_of_settings
from evodiverse.results.tables.results import CALLS_TO, Result, show_overrides
from evodiverse.runlog.runs import write_setting
from evodiverse.text import count_of

_ALIASES: Final = {"task": "task.name", "method": "method.name", "llm": "llm.name"}
_ALL: Final = "all"
_NOTE: Final = (
    "{}, of all runs with these values regardless of their other settings; for a balanced sweep, this is the marginal. "
    "The number of runs is in parentheses. Of the runs of a cell that differ only in their budget, the longest counts."
)
# Fewer pairs cannot give a two-sided p-value of at most 0.05.
_LEAST_PAIRS: Final = 6
_DIFFERENCES: Final = (
    "The last columns compare with {}: the mean difference within pairs of runs (for an error, the ratio of the means) "
    "with its 95% t-interval, and the two-sided p-value of the permutation test. A pair has the same task, problem, "
    "model, seed and other overrides, and so the same budget, the largest that both have; the number of pairs is in "
    "parentheses."
)
_FEW_PAIRS: Final = "Careful: {} in a cell cannot give a p-value below {:.3g}, whatever the difference; use more seeds."


def marginal_tables(results: Sequence[Result], keys: Sequence[str], against: str | None = None) -> list[Table]:
    """Return tables of mean or median metrics, with a row for each value of a setting and possibly columns for another.

    With one setting, there is a table per task, with a column per metric. With two settings, there is a table per task
    and metric. The last row combines all values of the first setting. With two settings, the last column combines all
    values of the second. An error, such as the NMSE of equations, is summarized by its median instead of its mean.

    Args:
        results: The runs with their metrics.
        keys: The setting of the rows and, if there are two, that of the columns. Each is a dotted key or one of
            ``task``, ``method`` and ``llm``.
        against: The value of the only key with which all other values are compared, in further columns; None for no
            comparison.

    Raises:
        InputError: The number of keys is not one or two, or no run has one of the settings, or none has the value
            ``against``; the message then suggests a similar key or value.
    """
    if not 1 <= len(keys) <= 2 or not all(keys):
        got = ",".join(keys) or "none"
        raise InputError(f"--by takes one or two keys, got {got}; for example method.swap.period,method.ladder")
    known = sorted({key for result in results for key in result.run.settings})
    for key in keys:
        if _ALIASES.get(key, key) not in known:
            raise InputError(f"no run has the setting {key}; {nearest_key(key, [*_ALIASES, *known])}")
    if against is not None:
        if len(keys) > 1:
            raise InputError("--against compares the values of one key; name one with --by")
        if reached := [each for result in results for each in result.headlines if each.metric.startswith(CALLS_TO)]:
            raise InputError(f"--against cannot compare {reached[0].metric}, as a run may never reach it; omit one")
        if against not in (values := _find_values(results, keys[0])):
            raise InputError(f"no run has {keys[0]}={against}; --against takes one of {', '.join(values)}")
    groups = group_by(results, lambda result: (result.kind, result.task))
    return [table for (_, task), some in sorted(groups.items()) for table in _tables(task, some, keys, against)]


def _longest(results: Sequence[Result]) -> list[Result]:
    """Return the results without those of runs that differ from a longer one only by their budget of oracle calls.

    The log of such a run is the beginning of the longer one, so it is no further observation.
    """
    longest: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: int(result.run.settings[BUDGET])):
        others = {key: value for key, value in result.run.settings.items() if key != BUDGET}
        longest[json.dumps([others, result.run.record.get("sources")], sort_keys=True)] = result
    return [*longest.values()]


def _to_column(headline: Headline) -> Column:
    title, is_calls = f"{headline.words} {headline.arrow}".strip(), headline.metric.startswith(CALLS_TO)
    if is_calls or headline.is_error:
        return Column(title, headline.metric, style="calls" if is_calls else "scientific", median=True)
    style = "significant" if headline.digits is None else "fixed"
    return Column(title, headline.metric, headline.digits or 0, style)


def _tables(task: str, results: Sequence[Result], keys: Sequence[str], against: str | None) -> Iterator[Table]:
    metrics = [_to_column(headline) for headline in results[0].headlines]
    note = _NOTE.format("Median" if metrics[0].median else "Mean ± sample standard deviation over seeds")
    budgets = () if BUDGET in keys else warn_of_settings(differing_budgets(_longest(results)))
    notes = (note, *note_ends(results), *budgets, *note_sources(results))
    values = [*_find_values(results, keys[1]), None] if len(keys) == 2 else []
    titles = [_ALL if value is None else f"{keys[1]}={value}" for value in values]
    for metric in metrics if values else [None]:
        columns = [*metrics] if metric is None else [replace(metric, title=title) for title in titles]
        lines = []
        for value in [*_find_values(results, keys[0]), None]:
            some = _choose(results, keys[0], value)
            parts = [_choose(some, keys[1], other) for other in values] or [some] * len(columns)
            cells = [make_cell(column, _longest(part)) for column, part in zip(columns, parts, strict=True)]
            if against is not None:
                cells += _compare(results, keys[0], value, against, metrics)
            lines.append(Line((_ALL if value is None else value,), tuple(cells)))
        name = "_".join(["by", *keys, task, _ALL if metric is None else metric.title.split(" ")[0]]).replace("/", "_")
        title = f"{task}: {'by' if metric is None else f'{metric.title} by'} {' and '.join(keys)}"
        if against is not None:
            differences = [cell for line in lines for cell in line.cells[len(metrics) :]]
            notes = (note, *_note_differences(differences, against), *notes[1:])
            columns += [
                replace(column, title=f"{column.title} {'÷' if column.style == 'scientific' else '−'} {against}")
                for column in metrics
            ]
        yield Table(name, title, (keys[0],), tuple(columns), tuple(lines), notes)


def _compare(
    results: Sequence[Result], key: str, value: str | None, against: str, columns: Sequence[Column]
) -> list[Cell]:
    """Return a cell for each column's difference between two values of a setting; empty cells for all values (None)."""
    if value in (None, against):
        return [EMPTY] * len(columns)
    pairs = pair_up(_choose(results, key, value), _choose(results, key, against), lambda one: _agreed(one, key))
    longest = {id(one) for one in _longest([one for one, _ in pairs])}
    return [make_difference_cell(column, [pair for pair in pairs if id(pair[0]) in longest]) for column in columns]


def _note_differences(cells: Sequence[Cell], against: str) -> Iterator[str]:
    yield _DIFFERENCES.format(against)
    few = min((cell.n_runs for cell in cells if cell != EMPTY), default=_LEAST_PAIRS)
    if few < _LEAST_PAIRS:
        yield _FEW_PAIRS.format(count_of(few, "pair"), min(1, 2 / 2**few))


def _agreed(result: Result, key: str) -> tuple[object, ...]:
    """Return all in which the two runs of a pair agree."""
    overrides = show_overrides({name: value for name, value in result.overrides.items() if name != key})
    agreed = {"task": result.task, "task.problem": result.problem, "llm": result.model, "seed": result.run.seed}
    return (*(value for name, value in agreed.items() if name != key), overrides)


def _choose(results: Sequence[Result], key: str, value: str | None) -> list[Result]:
    """Return the runs with a value of a setting; None stands for all values."""
    return [result for result in results if value is None or _value(result, key) == value]


def _find_values(results: Sequence[Result], key: str) -> list[str]:
    """Return the values of a setting, sorted, with numbers before all others."""
    return sort_values(_value(result, key) for result in results)


def _value(result: Result, key: str) -> str:
    return write_setting(result.run.settings.get(_ALIASES.get(key, key)))
