"""Tables of mean or median metrics, grouped by the values of one or two settings, regardless of all other settings."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from evodiverse.errors import InputError
from evodiverse.kit.hints import nearest_key
from evodiverse.results.tables.cells import EMPTY, Cell, make_cell, make_difference_cell
from evodiverse.results.tables.layout import Column
from evodiverse.results.tables.notes import BUDGET, note_budgets, note_ends, note_sources
from evodiverse.results.tables.results import Result, show_overrides
from evodiverse.results.tables.table import Line, Table
from evodiverse.runlog.runs import write_setting
from evodiverse.text import count_of

_ALIASES: Final = {"task": "task.name", "method": "method.name", "llm": "llm.name"}
_ALL: Final = "all"
_BEST: Final = Column("best ↑", "best_score", 5)
_METRICS: Final[Mapping[str, tuple[Column, ...]]] = {
    "molecules": (
        Column("diversity-aware top-10 AUC ↑", "diverse_auc", 3),
        Column("different hits ↑", "different_hits_0.5_0.4", 1),
        Column("mean of the ten best ↑", "top10", 3),
    ),
    "equations": (Column("NMSE of the best, held out ↓", "best_nmse", style="scientific", median=True),),
    "circle packing": (Column("best sum of radii ↑", "best_sum", 5),),
    "programs": (_BEST,),
}
_MEANS: Final = "Mean ± sample standard deviation over seeds"
_MEDIANS: Final = "Median"
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
        raise InputError(
            f"--by takes one or two keys, got {','.join(keys) or 'none'}; for example method.swap.period,method.ladder"
        )
    known = sorted({key for result in results for key in result.run.settings})
    for key in keys:
        if _ALIASES.get(key, key) not in known:
            raise InputError(f"no run has the setting {key}; {nearest_key(key, [*_ALIASES, *known])}")
    if against is not None:
        if len(keys) > 1:
            raise InputError("--against compares the values of one key; name one with --by")
        if against not in (values := _find_values(results, keys[0])):
            raise InputError(f"no run has {keys[0]}={against}; {nearest_key(against, values)}")
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result.kind, result.task].append(result if result.kind in _METRICS else _with_best(result))
    return [
        table for (kind, task), some in sorted(groups.items()) for table in _tables(kind, task, some, keys, against)
    ]


def _longest(results: Sequence[Result]) -> list[Result]:
    """Return the results without those of runs that differ from a longer one only by their budget of oracle calls.

    The log of such a run is the beginning of the longer one, so it is no further observation.
    """
    longest: dict[str, Result] = {}
    for result in sorted(results, key=lambda result: int(result.run.settings[BUDGET])):
        others = {key: value for key, value in result.run.settings.items() if key != BUDGET}
        longest[json.dumps([others, result.run.record.get("sources")], sort_keys=True)] = result
    return [*longest.values()]


def _with_best(result: Result) -> Result:
    """Return a run with its best score as an additional metric, since runs of every domain have a best score."""
    best = result.run.record.get("totals", {}).get(_BEST.metric)
    return replace(result, metrics={**result.metrics, _BEST.metric: best})


def _tables(
    kind: str, task: str, results: Sequence[Result], keys: Sequence[str], against: str | None
) -> Iterator[Table]:
    columns = _METRICS.get(kind, (_BEST,))
    budgets = () if BUDGET in keys else note_budgets(_longest(results))
    warnings = (*note_ends(results), *budgets, *note_sources(results))
    if len(keys) == 1:
        lines = _lines(results, keys[0], lambda some: _by_metric(some, columns))
        if against is not None:
            lines, notes = _add_differences(lines, results, keys[0], against, columns)
            warnings = (*notes, *warnings)
            signs = ["÷" if column.style == "scientific" else "−" for column in columns]
            titles = [f"{column.title} {sign} {against}" for column, sign in zip(columns, signs, strict=True)]
            columns = (*columns, *map(_retitle, columns, titles))
        yield _table(task, keys, "", columns, lines, warnings)
        return
    values = _find_values(results, keys[1])
    for column in columns:
        titles = [*(f"{keys[1]}={value}" for value in values), _ALL]
        titled = tuple(_retitle(column, title) for title in titles)
        lines = _lines(results, keys[0], lambda some, column=column: _by_value(some, column, keys[1], values))
        yield _table(task, keys, column.title, titled, lines, warnings)


def _retitle(column: Column, title: str) -> Column:
    """Return a column with another title."""
    return replace(column, title=title)


def _add_differences(
    lines: Sequence[Line], results: Sequence[Result], key: str, against: str, columns: Sequence[Column]
) -> tuple[tuple[Line, ...], tuple[str, ...]]:
    """Return the lines with a cell for each column's difference from the value ``against``, and notes about them."""
    reference = _by_pair([result for result in results if _value(result, key) == against], key)
    compared = []
    for line in lines:
        some = _by_pair([result for result in results if _value(result, key) == line.of[0] != against], key)
        common = {id(some[pair]): reference[pair] for pair in some if pair in reference}
        pairs = [(one, common[id(one)]) for one in _longest([one for one in some.values() if id(one) in common])]
        cells = tuple(make_difference_cell(column, pairs) for column in columns)
        compared.append(Line(line.of, (*line.cells, *cells), (*line.paper, *(None for _ in cells))))
    counts = [cell.n_runs for line in compared for cell in line.cells[len(columns) :] if cell != EMPTY]
    few = min(counts, default=_LEAST_PAIRS)
    warning = (_FEW_PAIRS.format(count_of(few, "pair"), min(1, 2 / 2**few)),) if few < _LEAST_PAIRS else ()
    return tuple(compared), (_DIFFERENCES.format(against), *warning)


def _by_pair(results: Sequence[Result], key: str) -> dict[tuple[object, ...], Result]:
    """Return runs by all in which the two runs of a pair agree."""
    by_pair: dict[tuple[object, ...], Result] = {}
    for result in results:
        overrides = show_overrides({name: value for name, value in result.overrides.items() if name != key})
        agreed = {"task": result.task, "task.problem": result.problem, "llm": result.model, "seed": result.run.seed}
        by_pair[*(value for name, value in agreed.items() if name != key), overrides] = result
    return by_pair


def _table(
    task: str,
    keys: Sequence[str],
    metric: str,
    columns: tuple[Column, ...],
    lines: tuple[Line, ...],
    warnings: tuple[str, ...],
) -> Table:
    name = "_".join(["by", *keys, task, metric.split(" ")[0] if metric else "all"]).replace("/", "_")
    title = f"{task}: {f'{metric} by' if metric else 'by'} {' and '.join(keys)}"
    note = _NOTE.format(_MEDIANS if columns[0].median else _MEANS)
    return Table(name, title, (keys[0],), columns, lines, (note, *warnings), (), name, is_of_paper=False)


def _lines(results: Sequence[Result], key: str, cells: Any) -> tuple[Line, ...]:
    lines = []
    for value in [*_find_values(results, key), None]:
        some = [result for result in results if value is None or _value(result, key) == value]
        row_cells: list[Cell] = cells(some)
        lines.append(Line((_ALL if value is None else value,), tuple(row_cells), (None,) * len(row_cells)))
    return tuple(lines)


def _by_metric(results: Sequence[Result], columns: Sequence[Column]) -> list[Cell]:
    longest = _longest(results)
    return [make_cell(column, longest) for column in columns]


def _by_value(results: Sequence[Result], column: Column, key: str, values: Sequence[str]) -> list[Cell]:
    groups = [[result for result in results if _value(result, key) == value] for value in values]
    return [make_cell(column, _longest(some)) for some in [*groups, results]]


def _find_values(results: Sequence[Result], key: str) -> list[str]:
    """Return the values of a setting, sorted, with numbers before all others."""
    return sorted({_value(result, key) for result in results}, key=_order)


def _value(result: Result, key: str) -> str:
    return write_setting(result.run.settings.get(_ALIASES.get(key, key)))


def _order(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), text
    except ValueError:
        return 1, 0.0, text
