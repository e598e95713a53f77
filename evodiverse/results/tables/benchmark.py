"""The table of a benchmark of many tasks: one row per task, and columns for our methods and for published ones."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Final

from evodiverse.results.tables.cells import EMPTY, Cell, make_cell
from evodiverse.results.tables.layout import Benchmark, Column, Layout
from evodiverse.results.tables.models import OFF
from evodiverse.results.tables.notes import note_ends, note_mixtures
from evodiverse.results.tables.results import Result, show_overrides
from evodiverse.results.tables.table import Line, Table

_DIGITS: Final = 3


def benchmark_table(layout: Layout, benchmark: Benchmark, results: Sequence[Result]) -> Table:
    """Return the table of a benchmark; the table has no lines if no run counts.

    A run counts if its task belongs to the benchmark, no setting of the task's oracle is overridden, and its budget is
    that of the benchmark. The second-to-last line shows the sum of the metric over all tasks, averaged over the seeds
    with runs of all tasks. The last line shows how many evaluations each method made without counting them as oracle
    calls: 0 for ours.

    Args:
        layout: The layout of the table.
        benchmark: The tasks and the published values.
        results: All runs, with their metrics.
    """
    counted = [
        result
        for result in results
        if result.task in benchmark.tasks and result.run.settings["budget.oracle_calls"] == benchmark.budget
    ]
    by_method: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in counted:
        by_method[_name(result)][result.task].append(result)
    methods = sorted(by_method)
    ours = [Column(name, benchmark.metric, _DIGITS) for name in methods]
    columns = (*ours, *(Column(name, benchmark.metric, _DIGITS, group="published") for name in benchmark.methods))
    lines = [
        Line(
            (task.rpartition("/")[2],),
            (*(make_cell(column, by_method[column.title][task]) for column in ours), *map(Cell, published)),
            (None,) * len(columns),
        )
        for task, published in benchmark.tasks.items()
    ]
    sums = [_sum(by_method[name], benchmark) for name in methods]
    lines.append(_line(f"sum of {len(benchmark.tasks)}", [*sums, *map(Cell, benchmark.totals)]))
    lines.append(_line("calls outside the count", [*[Cell("0")] * len(ours), *map(Cell, benchmark.uncounted)]))
    is_whole = all(by_method[name][task] for name in methods for task in benchmark.tasks)
    return Table(
        layout.name,
        layout.title,
        layout.head,
        columns,
        tuple(lines) if counted else (),
        (*layout.notes, *note_ends(counted), *note_mixtures([*_by_task_and_method(by_method)])),
        () if is_whole else (f"evodiverse -m +experiment={benchmark.experiment}",),
        layout.name,
        is_of_paper=False,
    )


def _name(result: Result) -> str:
    """Return the name of a column: the method of a run, with its model and its changed settings, if any."""
    model = "" if result.model == OFF else result.model
    return " ".join(filter(None, (result.run.method, model, show_overrides(result.overrides))))


def _line(head: str, cells: Sequence[Cell]) -> Line:
    return Line((head,), tuple(cells), (None,) * len(cells))


def _sum(by_task: Mapping[str, Sequence[Result]], benchmark: Benchmark) -> Cell:
    """Return a cell with the sum of the metric over the tasks: mean ± spread over the seeds with runs of all tasks."""
    by_seed: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for task in benchmark.tasks:
        for result in by_task.get(task, ()):
            value = result.metrics.get(benchmark.metric)
            if isinstance(value, float | int):
                by_seed[result.run.seed][task].append(float(value))
    sums = [sum(map(fmean, tasks.values())) for tasks in by_seed.values() if len(tasks) == len(benchmark.tasks)]
    if not sums:
        return EMPTY
    spread = stdev(sums) if len(sums) > 1 else None
    text = f"{fmean(sums):.{_DIGITS}f}" + ("" if spread is None else f" ± {spread:.{_DIGITS}f}")
    return Cell(text, fmean(sums), spread, len(sums))


def _by_task_and_method(by_method: Mapping[str, Mapping[str, Sequence[Result]]]) -> list[Sequence[Result]]:
    return [results for tasks in by_method.values() for results in tasks.values()]
