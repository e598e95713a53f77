"""Fill tables: choose the runs for each cell, write the notes, and find the commands for missing runs."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from operator import attrgetter
from typing import Final

from evodiverse.results.domains import find_domain, table_files
from evodiverse.results.grouping import group_by
from evodiverse.results.tables import notes
from evodiverse.results.tables.cells import DASH, EMPTY, RUNS, Cell, Line, Table, make_cell, make_test_cell, pair_up
from evodiverse.results.tables.layout import FIT, OFF, Benchmark, Column, Layout, Row, found_layouts, paper_layouts
from evodiverse.results.tables.results import LeftOut, Result, choose_words, show_overrides
from evodiverse.text import count_of

# A variant of a metric is shown next to the metric itself only if the two differ by more than this in some row.
_UNLIKE: Final = 0.01
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9.=-]+")


def build_tables(
    results: Sequence[Result],
    left_out: LeftOut,
    task: str | None = None,
    llm: str | None = None,
    own: Collection[str] = (),
    papers: Sequence[Layout] | None = None,
) -> list[Table]:
    """Return all tables: the paper's, copies of them for other models, and our own.

    Args:
        results: The complete runs with their metrics.
        left_out: All other runs, with the reasons why they do not count.
        task: The only task whose rows and runs count; None for all tasks.
        llm: The only language model whose runs and tables count; None for all models.
        own: The packages of the user's own domains.
        papers: The layouts of the paper's tables; None to read them from their files.
    """

    def is_chosen(result: Result) -> bool:
        return task in (None, result.run.task) and llm in (None, result.model)

    chosen = [result for result in results if is_chosen(result)]
    others = [(result, why) for result, why in left_out if is_chosen(result)]
    layouts = [layout.for_task(task) for layout in (paper_layouts() if papers is None else papers)]
    tables = [table for layout in layouts if layout.rows for table in _paper_tables(layout, chosen, others, llm)]
    domains = [find_domain(name, frozenset(own)) for name in sorted({result.run.domain for result in chosen})]
    files = table_files(domain for domain in domains if domain is not None)
    found = [_found_table(layout, chosen) for layout in found_layouts(*files)]
    return tables + [table for table in found if table.lines]


def _paper_tables(layout: Layout, results: Sequence[Result], others: LeftOut, llm: str | None) -> Iterator[Table]:
    """Yield a table of the paper, and a copy of it for each model of the runs that is not one of the table's models.

    If ``llm`` is given, the table is left out unless it uses runs of ``llm``, and only its part about ``llm`` is
    yielded. A copy is left out if none of its cells is filled. There are no copies of a table that is not about
    language models.
    """
    if llm is None or layout.admits(llm):
        about = layout if llm is None else _narrow(layout, llm)
        yield _paper_table(_split_by_fit(about, results, about.fit), layout, results, others)
    if layout.is_about_models:
        found = {result.model for result in results if any(map(result.belongs, layout.rows))}
        for model in sorted(found - set(layout.llm)):
            table = _paper_table(_split_by_fit(_for_model(layout, model), results), layout, results, others)
            if table.n_filled:
                yield table


def _split_by_fit(layout: Layout, results: Sequence[Result], always: str | None = None) -> Layout:
    """Return a layout with each row repeated for each way of fitting equations (``task.fit``).

    A layout without `Layout.fit` is returned unchanged. There are rows for the way ``always``, if it is given, and for
    those that have runs. The paper's numbers stay only in the rows of the way of fitting that the paper used.
    """
    if layout.fit is None:
        return layout
    about = [each for each in results if layout.admits(each.model) and any(map(each.belongs, layout.rows))]
    fits = [fit for fit in dict.fromkeys([always, *sorted(str(each.fit) for each in about if each.fit)]) if fit]
    rows = tuple(
        replace(row, of=(*row.of, fit), fit=fit, paper=row.paper if fit == layout.fit else (DASH,) * len(row.paper))
        for row in layout.rows
        for fit in fits
    )
    note = f"Fit: how the parameters of an equation are fitted ({FIT}); the released code uses {layout.fit}."
    return replace(layout, head=(*layout.head, "Fit"), rows=rows, notes=(*layout.notes, note))


def _narrow(layout: Layout, llm: str) -> Layout:
    """Return the part of a layout that is about one of its models."""
    if len(layout.llm) < 2:
        return layout
    averages = all(column.llm is None for column in layout.columns)
    means = (f"The paper's values are means over {' and '.join(layout.llm)}.",) if averages else ()
    reported = [column for column in layout.columns if not column.extra]
    kept = [at for at, column in enumerate(reported) if column.llm in (None, llm)]
    columns = tuple(column for column in layout.columns if column.llm in (None, llm))
    rows = tuple(replace(row, paper=tuple(row.paper[at] for at in kept)) for row in layout.rows)
    return replace(layout, llm=(llm,), columns=columns, rows=rows, notes=layout.notes + means)


def _for_model(layout: Layout, model: str) -> Layout:
    """Return a copy of a layout for another model, without the paper's values."""
    columns: dict[tuple[str, str | None], Column] = {}
    for column in layout.columns:
        group = column.group if column.llm is None else None
        columns.setdefault((column.title, group), replace(column, llm=None, group=group))
    instead = "without a model (llm=off)" if model == OFF else f"with {model}"
    name = f"{layout.name}_{_UNSAFE.sub('_', model).strip('_')}"
    label = f"{layout.label}-{_UNSAFE.sub('-', model).strip('-')}"
    title, shown = f"{layout.title}: the same rows {instead}", tuple(columns.values())
    below = (*layout.notes, f"The paper's values are in the table {layout.name}.")
    rows = tuple(replace(row, paper=()) for row in layout.rows)
    return replace(layout, name=name, title=title, llm=(model,), columns=shown, rows=rows, notes=below, label=label)


def _paper_table(layout: Layout, whole: Layout, results: Sequence[Result], others: LeftOut) -> Table:
    """Return a filled table; ``whole`` is the layout in the paper, of which ``layout`` may be a part or a copy."""
    mine = [result for result in results if layout.admits(result.model)]
    by_row, left_out = _keep_common(layout, [[result for result in mine if result.belongs(row)] for row in layout.rows])
    rivals = [[each for each in mine if row.against and each.belongs(row, row.against)] for row in layout.rows]
    columns = _shown_columns(layout, mine)
    lines: list[Line] = []
    absent: list[notes.Absent] = []
    for row, own, theirs in zip(layout.rows, by_row, rivals, strict=True):
        reported = iter(row.paper)
        beside = tuple(None if column.extra else next(reported, None) for column in columns)
        lines.append(Line(row.of, tuple(_fill(column, row, own, theirs) for column in columns), beside))
        absent += _find_absent(layout, row, own, theirs)
    commands = notes.choose_commands(whole, absent, choose_words(mine))
    table = _finish(layout, columns, lines, [*by_row, *rivals])
    below = (*table.notes, *left_out, *notes.note_left_out(layout, results, others))
    return replace(table, notes=below, commands=tuple(commands), label=layout.label, is_of_paper=True)


def _shown_columns(layout: Layout, results: Sequence[Result]) -> tuple[Column, ...]:
    """Return the columns of a layout, those for several metrics as one for each, without extra ones that no run has."""
    measured = dict.fromkeys(metric for result in results for metric in result.metrics)
    columns: list[Column] = []
    for column in layout.columns:
        prefix = column.metric.removesuffix("*")
        if prefix != column.metric:
            found = {name: name.removeprefix(prefix) for name in measured if name.startswith(prefix)}
            columns += [replace(column, metric=name, title=column.title.replace("*", found[name])) for name in found]
        elif not column.extra or column.metric in measured:
            columns.append(column)
    return tuple(columns)


def _finish(
    layout: Layout, columns: Sequence[Column], lines: Sequence[Line], behind: Sequence[Sequence[Result]]
) -> Table:
    """Return a table with its notes, without the columns of variants of a metric that agree with it in every row.

    `Column.unlike` names the metric of which a column shows a variant. Two values agree if one of them is missing or if
    they differ by at most `_UNLIKE`.
    """

    def differs(at: int, other: int) -> bool:
        means = [(line.cells[at].mean, line.cells[other].mean) for line in lines]
        return any(one is not None and two is not None and abs(one - two) > _UNLIKE for one, two in means)

    places = {column.metric: at for at, column in enumerate(columns)}
    kept = [not column.unlike or differs(at, places[column.unlike]) for at, column in enumerate(columns)]
    chosen = tuple(compress(columns, kept))
    shown = tuple(Line(line.of, tuple(compress(line.cells, kept)), tuple(compress(line.paper, kept))) for line in lines)
    below = notes.note_table(layout, chosen, [line.cells for line in shown], behind)
    return Table(layout.name, layout.title, layout.head, chosen, shown, tuple(below))


def _fill(column: Column, row: Row, own: Sequence[Result], rivals: Sequence[Result]) -> Cell:
    own, rivals = ([result for result in some if column.llm in (None, result.model)] for some in (own, rivals))
    if column.test is None:
        return make_cell(column, own)
    return make_test_cell(column, pair_up(own, rivals)) if row.against else EMPTY


def _keep_common(layout: Layout, by_row: Sequence[Sequence[Result]]) -> tuple[Sequence[Sequence[Result]], list[str]]:
    """Return the results for those problems and models for which all methods have results, by row.

    Only rows about a science, which is a group of problems, are affected. Methods without results are ignored.

    - For each science, a table that averages over models keeps a model only if all methods have results with it. It
      keeps a problem only if all methods have results for this problem with each of the models that are kept.
    - Any other table keeps, for each model separately, the problems for which all methods have results.

    Returns:
        The results that are kept, by row, and a note that says which results were dropped, if any were.
    """
    averages = all(column.llm is None for column in layout.columns)
    task, model, problem = attrgetter("task"), attrgetter("model"), attrgetter("problem")
    # Each stage has three functions of a result. Rows are compared within each part of the table (the first function).
    # A value (the third) is common if it occurs in every subgroup (the second) of every comparable row.
    stages = [(task, task, model)] if averages and len(layout.llm) > 1 else []
    stages.append((task if averages else model, model, problem))
    kept = by_row
    for part, within, value in stages:
        sets: dict[object, dict[object, set[str]]] = defaultdict(lambda: defaultdict(set))
        for at, (row, own) in enumerate(zip(layout.rows, kept, strict=True)):
            for result in own:
                sets[row.science, row.fit, part(result)][at, within(result)].add(value(result))
        common = {place: set.intersection(*each.values()) for place, each in sets.items()}
        kept = [
            [each for each in own if not row.science or value(each) in common[row.science, row.fit, part(each)]]
            for row, own in zip(layout.rows, kept, strict=True)
        ]
    remaining = {result.run.path for own in kept for result in own}
    dropped = {result.run.path: result for own in by_row for result in own if result.run.path not in remaining}
    about = sorted({f"{result.problem} with {result.model}" for result in dropped.values()})
    why = "so that all methods are compared on the same problems and models"
    return kept, [f"Left out: {count_of(len(dropped), 'run')} of {', '.join(about)}, {why}."] if dropped else []


def _find_absent(layout: Layout, row: Row, own: Sequence[Result], rivals: Sequence[Result]) -> Iterator[notes.Absent]:
    """Yield each pair of method and model for which a row has no runs.

    Yield nothing if the table needs data that are added after the runs, since new runs alone would not fill it.

    The model ``off`` stands for no model. It is not paired with a method that needs a model.
    """
    for method, found in [(row.method, own), (row.against, rivals)]:
        for model in layout.llm or [OFF]:
            has_any = any(result.model == model or not layout.llm for result in found)
            is_impossible = model == OFF and method in notes.NEED_A_MODEL
            if method and not (has_any or is_impossible or layout.is_filled_later):
                yield row.fit, model


def _found_table(layout: Layout, results: Sequence[Result]) -> Table:
    if layout.benchmark is not None:
        return benchmark_table(layout, layout.benchmark, results)
    mine = [
        result
        for result in results
        if layout.kind in ("search", result.kind)
        and (layout.needs is None or result.metrics.get(layout.needs) is not None)
    ]
    groups = group_by(mine, lambda result: _group(result, with_fit=layout.has_problems))
    columns = _shown_columns(layout, mine)
    lines = []
    for of, some in sorted(groups.items()):
        n_problems = [str(len({result.problem for result in some}))] if layout.has_problems else []
        lines.append(Line((*of, *n_problems, str(len(some))), tuple(make_cell(column, some) for column in columns)))
    head = (*layout.head, *(["problems"] if layout.has_problems else []), RUNS)
    return _finish(replace(layout, head=head), columns, lines, [*groups.values()])


def _group(result: Result, *, with_fit: bool) -> tuple[str, ...]:
    about = result.science or result.problem or result.task
    fit = {FIT: result.fit} if FIT in (result.run.overrides or {}) and not with_fit else {}
    overrides = show_overrides({**result.overrides, **fit}) or "default"
    return about, result.run.method, result.model, *([str(result.fit)] if with_fit else []), overrides


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
    tasks, metric = benchmark.tasks, benchmark.metric
    counted = [each for each in results if each.task in tasks and each.run.settings[notes.BUDGET] == benchmark.budget]
    by_method = group_by(counted, _name_method)
    groups = group_by(counted, lambda result: (_name_method(result), result.task))
    ours = [Column(name, metric, 3) for name in sorted(by_method)]
    cells = {task: [make_cell(column, groups.get((column.title, task), [])) for column in ours] for task in tasks}
    sums = [make_cell(column, _add_up(by_method[column.title], benchmark)) for column in ours]
    rows = [(task.rpartition("/")[2], cells[task], published) for task, published in tasks.items()]
    rows.append((f"sum of {len(tasks)}", sums, benchmark.totals))
    rows.append(("calls outside the count", [Cell("0")] * len(ours), benchmark.uncounted))
    lines = tuple(Line((head,), (*own, *map(Cell, published))) for head, own, published in rows if counted)
    columns = (*ours, *(Column(name, metric, 3, group="published") for name in benchmark.methods))
    below = (*layout.notes, *notes.note_ends(counted), *notes.note_mixtures([*groups.values()]))
    is_whole = len(groups) == len(ours) * len(tasks)
    commands = () if is_whole else (f"evodiverse -m +experiment={benchmark.experiment}",)
    return Table(layout.name, layout.title, layout.head, columns, lines, below, commands)


def _name_method(result: Result) -> str:
    """Return the method of a run, with its model and its changed settings, if any."""
    model = "" if result.model == OFF else result.model
    return " ".join(filter(None, (result.run.method, model, show_overrides(result.overrides))))


def _add_up(results: Sequence[Result], benchmark: Benchmark) -> Iterator[Result]:
    """Yield for each seed that has runs of all tasks one of these runs, with the sum over the tasks as its metric."""
    for some in group_by(results, lambda result: result.run.seed).values():
        by_task = group_by(some, lambda result: result.task)
        cells = [make_cell(Column("", benchmark.metric), by_task.get(task, [])) for task in benchmark.tasks]
        means = [cell.mean for cell in cells if cell.mean is not None]
        if len(means) == len(cells):
            yield replace(some[0], metrics={benchmark.metric: sum(means)})
